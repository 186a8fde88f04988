import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

/** A list with a line for each record. */
export interface Lines {
  /** Precedes the lines: the header of CSV. */
  readonly header: string;
  /** The line of a record's document, with its end; absent: the document itself and a line feed. */
  readonly lineOf?: (document: string) => string | Promise<string>;
  /** The text after the lines, which is requested when all have been; absent: none. */
  readonly footer?: () => string | Promise<string>;
}

/** How documents are arranged in a body: as `lines`, or as an array with the texts of `frame` before and after it. */
interface Arrangement {
  readonly lines?: Lines;
  readonly frame?: readonly [before: string, after: string];
}

/** The rows of a whole list, each with a document, which the database streams. */
export interface Rows extends Arrangement {
  readonly kind: 'rows';
  /** `caller`: the client that waits for its turn with others; absent: a task of the service, which waits for none. */
  readonly open: (consume: (rows: Readable) => Promise<void>, caller?: string) => Promise<void>;
}

/** The documents of a page that is too large for memory, which are read one by one. */
export interface Documents extends Arrangement {
  readonly kind: 'documents';
  readonly read: () => AsyncIterable<string>;
}

/** Content that is read in parts while it is sent. */
export interface Bytes {
  readonly kind: 'bytes';
  readonly read: () => AsyncIterable<Buffer>;
}

/** Content that is written as it arises, until the client disconnects. */
export interface Live {
  readonly kind: 'live';
  readonly write: (out: ServerResponse) => void;
}

/** A reply that is not ready. `disconnected` aborts when the client has left. */
export interface Pending {
  readonly kind: 'pending';
  readonly reply: (disconnected: AbortSignal) => Promise<Reply>;
}

export type Content = Rows | Documents | Bytes | Live | Pending;

/** A response as a value. `headers` is a flat list of names and values. */
export interface Reply {
  readonly status: number;
  readonly headers: readonly string[];
  /** Absent: the response has no content, or that of `content`. */
  readonly body?: string;
  /** The record that the JSON body shows, and its collection. A stored response refers to them. */
  readonly record?: { readonly id: string; readonly version: number; readonly doc: string };
  readonly collection?: string;
  /** Whether the request only reads: its response depends on what the caller may read at that time. */
  readonly isRead?: boolean;
  /** Whether the body has a secret, which no stored response may have. */
  readonly isSecret?: boolean;
  /** The replies of a batch's operations, of which its body consists. */
  readonly results?: readonly Reply[];
  /** Instead of a body: content that is not in memory. */
  readonly content?: Content;
}

/** The text of documents: as an array in its frame, or as lines. The first piece has the first document. */
export async function* piecesOf({ read, frame, lines }: Documents): AsyncGenerator<string> {
  const [before, after] = lines ? [lines.header, ''] : [`${frame?.[0] ?? ''}[`, `]${frame?.[1] ?? ''}`];
  const lineOf = lines?.lineOf ?? ((document: string) => `${document}\n`);
  let start = before;
  for await (const document of read()) {
    yield start + (lines ? await lineOf(document) : document);
    start = lines ? '' : ',';
  }
  yield (start === before ? before : '') + (lines?.footer ? await lines.footer() : after);
}

/** Headers without a field. */
export const withoutField = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, at) => headers[at - (at % 2)] !== name);

/** An error as a page. */
export interface ErrorPage {
  readonly body: string;
  readonly headers: readonly string[];
}
