import http, { type IncomingHttpHeaders } from 'node:http';
import type { Test } from '../support/test.js';

export interface Message {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  readonly data: any;
}

/** An event stream as a client reads it. */
export interface Followed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything that came, as text. */
  readonly text: () => string;
  readonly messages: Message[];
  /** The last id that was sent, with a message or without. */
  readonly lastId: () => string;
  readonly isOver: () => boolean;
  readonly leave: () => void;
  /** Reads no more for now. */
  readonly pause: () => void;
}

/** A field of the record of each message. */
export const valuesIn = ({ messages }: Followed, field = 'name'): unknown[] =>
  messages.map(({ data }) => data.data?.[field]);

/** Opens an event stream; closed when the test ends. */
export function follow(t: Test, url: string, headers: http.OutgoingHttpHeaders = {}): Promise<Followed> {
  return new Promise((resolve, reject) => {
    const request = http.get(
      url,
      { agent: false, headers: { accept: 'text/event-stream', ...headers } },
      (response) => {
        let [text, rest, lastId, over] = ['', '', '', false];
        const messages: Message[] = [];
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          const blocks = (rest + chunk).split('\n\n');
          rest = blocks.pop()!;
          for (const block of blocks) {
            const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)));
            lastId = fields.id ?? lastId;
            if (fields.data !== undefined)
              messages.push({ id: lastId, event: fields.event!, data: JSON.parse(fields.data) });
          }
        });
        const end = () => {
          over = true;
        };
        response.on('error', end).on('close', end);
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          text: () => text,
          messages,
          lastId: () => lastId,
          isOver: () => over,
          leave: () => request.destroy(),
          pause: () => response.pause(),
        });
      },
    );
    request.on('error', reject);
    t.teardown(() => request.destroy());
  });
}
