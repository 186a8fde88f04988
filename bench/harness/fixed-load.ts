import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A request that is sent once, and the status that its response must have. */
export interface FixedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly type?: string;
  readonly body?: string;
}

/** The content of a response's header section. */
export interface FixedResponse {
  readonly status: number;
  readonly location: string | undefined;
}

/**
 * Sends these requests, each once, over so many connections, each of which has one request in flight. Unlike wrk and
 * autocannon it sends a number of requests that is known before. Throws when a response has another status than expected.
 */
export async function loadFixed(
  url: string,
  requests: readonly FixedRequest[],
  connections: number,
): Promise<FixedResponse[]> {
  const { hostname, port, host } = new URL(url);
  const responses: FixedResponse[] = [];
  let next = 0;
  const line = async (): Promise<void> => {
    if (next >= requests.length) return;
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    try {
      await exchangeAll(
        socket,
        () => requests[next++],
        host,
        (response) => responses.push(response),
      );
    } finally {
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: connections }, line));
  return responses;
}

function exchangeAll(
  socket: Socket,
  take: () => FixedRequest | undefined,
  host: string,
  done: (response: FixedResponse) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let current = take();
    let response: { readonly head: FixedResponse; left: number } | undefined;
    let text = '';
    const send = (): void => {
      if (current === undefined) resolve();
      else socket.write(messageOf(current, host));
    };
    socket.on('error', reject).on('close', () => reject(new Error('the service closed a connection')));
    socket.on('data', (bytes: Buffer) => {
      if (response === undefined) {
        text += bytes.toString('latin1');
        response = parseHead(text);
        if (response === undefined) return;
        text = '';
      } else response.left -= bytes.length;
      if (response.left > 0) return;
      const { status } = response.head;
      if (status !== current!.status)
        return reject(new Error(`${current!.method} ${current!.path} responds with ${status}`));
      done(response.head);
      response = undefined;
      current = take();
      send();
    });
    send();
  });
}

function messageOf({ method, path, type, body }: FixedRequest, host: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const length = Buffer.byteLength(body);
  return `${head}content-type: ${type ?? 'application/json'}\r\ncontent-length: ${length}\r\n\r\n${body}`;
}

/** Reads a header section, and how many bytes are still to come; undefined if it is incomplete. */
export function parseHead(text: string): { head: FixedResponse; left: number } | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error('a response has no Content-Length');
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const location = /\r\nlocation: (\S+)/i.exec(head)?.[1];
  return { head: { status: Number(head.slice(9, 12)), location }, left: length - (text.length - end - 4) };
}
