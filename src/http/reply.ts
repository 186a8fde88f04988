import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

/** A list with a line for each record. */
export interface Lines {
  /** Precedes the lines: the header of CSV. */
  readonly header: string;
  /** The line of a record's document, with its end; absent: the document itself and a line feed. */
  readonly lineOf?: (document: string) => string | Promise<string>;
}

/** Bytes whose number is known before they are read. */
export interface StoredBytes {
  readonly length: number;
  read(): AsyncIterable<Buffer>;
}

/** A response as a value. `headers` is a flat list of names and values. */
export interface Reply {
  readonly status: number;
  readonly headers: readonly string[];
  /** Absent: the response has no content. */
  readonly body?: string;
  /** The record that the JSON body shows, and its collection. A stored response refers to them. */
  readonly record?: { readonly id: string; readonly version: number; readonly doc: string };
  readonly collection?: string;
  /** Whether the request only reads: its response depends on what the caller may read at that time. */
  readonly isRead?: boolean;
  /** The replies of a batch's operations, of which its body consists. */
  readonly results?: readonly Reply[];
  /** Instead of a body: opens the rows of a list that is streamed, as an array or as `lines`. */
  readonly stream?: (consume: (rows: Readable) => Promise<void>) => Promise<void>;
  /** Instead of a body: the documents of a page that is too large for memory, which are read one by one. */
  readonly documents?: () => AsyncIterable<string>;
  /** The text before and after the array of `stream` or `documents`; absent: the array is the whole body. */
  readonly frame?: readonly [before: string, after: string];
  readonly lines?: Lines;
  /** Instead of a body: bytes that are read while they are sent. */
  readonly stored?: StoredBytes;
  /** Instead of a body: writes to the response after its head, until the client disconnects. */
  readonly live?: (out: ServerResponse) => void;
  /** Instead of a reply that is not ready: resolves to it later. `disconnected` aborts when the client has left. */
  readonly pending?: (disconnected: AbortSignal) => Promise<Reply>;
}

/** The text of the `documents` of a reply: as an array in its frame, or as lines. The first piece has the first document. */
export async function* piecesOf({ documents, frame, lines }: Reply): AsyncGenerator<string> {
  const [before, after] = lines ? [lines.header, ''] : [`${frame?.[0] ?? ''}[`, `]${frame?.[1] ?? ''}`];
  const lineOf = lines?.lineOf ?? ((document: string) => `${document}\n`);
  let start = before;
  for await (const document of documents!()) {
    yield start + (lines ? await lineOf(document) : document);
    start = lines ? '' : ',';
  }
  yield start === before ? before + after : after;
}
