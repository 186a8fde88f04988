import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

/** An answer as a value. `headers` is a flat list of names and values. */
export interface Reply {
  readonly status: number;
  readonly headers: readonly string[];
  /** Absent: the answer has no content. */
  readonly body?: string;
  /** The record that the JSON body shows, and its collection: a stored reply refers to them. */
  readonly record?: { readonly id: string; readonly version: number; readonly doc: string };
  readonly collection?: string;
  /** The replies of a batch's operations, which its body is made of. */
  readonly results?: readonly Reply[];
  /** Instead of a body: opens the rows of an array that is written as they come. */
  readonly stream?: (consume: (rows: Readable) => Promise<void>) => Promise<void>;
  /** The text before and after a streamed array; absent: the array is the whole body. */
  readonly frame?: readonly [before: string, after: string];
  /** Instead of a body: takes the answer over after its head, and writes for as long as the client is there. */
  readonly live?: (out: ServerResponse) => void;
  /** Instead of an answer that is not yet there: gives it later; `left` when the client has gone away. */
  readonly pending?: (left: AbortSignal) => Promise<Reply>;
}
