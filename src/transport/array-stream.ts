import type { Readable } from 'node:stream';
import { type Documents, type Lines, piecesOf, type Reply, type Rows } from '../http/reply.js';
import { turn } from '../limits/turn.js';
import { chunksOf, documentsOf, joinInPlace } from './copy-rows.js';
import type { StreamedBody } from './streamed-body.js';

/** The receiver of the head and the body of a list. */
export type RowsBody = Pick<StreamedBody, 'begin' | 'write' | 'end' | 'close'>;

/** The status and the header fields of the response. */
type Head = Pick<Reply, 'status' | 'headers'>;

/** Documents are gathered up to this size before they are written. */
const CHUNK_BYTES = 65_536;
const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;

/** The parts of a body that documents are written into. */
interface Layout {
  readonly before: string;
  /** The bytes for a chunk of rows; `isFirst`: nothing precedes them. */
  readonly write: (chunk: Buffer, isFirst: boolean) => Buffer | Promise<Buffer>;
  readonly after: (isEmpty: boolean) => string;
}

/**
 * Streams the rows of a binary COPY, each of which holds one JSON document, as one JSON array or as lines, in constant
 * memory: the next chunk is read when the one before it has been sent. Throws ReaderGone if the client disconnects or
 * stalls, and the database's error if the COPY fails half way. The caller then aborts the connection, so that the body
 * never looks complete.
 */
export async function writeRows(
  rows: Readable,
  arrangement: Pick<Rows, 'lines' | 'frame'>,
  head: Head,
  body: RowsBody,
): Promise<void> {
  try {
    body.begin(head.status, head.headers);
    const { before, write, after } = layoutOf(arrangement);
    let parts: Buffer[] = [Buffer.from(before)];
    let bytes = parts[0]!.length;
    let isEmpty = true;
    for await (const chunk of chunksOf(rows)) {
      if (bytes >= CHUNK_BYTES) {
        await body.write(Buffer.concat(parts));
        parts = [];
        bytes = 0;
      }
      const written = await write(chunk, isEmpty);
      if (written.length === 0) continue;
      isEmpty = false;
      parts.push(written);
      bytes += written.length;
    }
    parts.push(Buffer.from(after(isEmpty)));
    await body.end(Buffer.concat(parts));
  } finally {
    body.close();
  }
}

/** Writes documents that are read one by one, as `writeRows` does the rows of a COPY. */
export async function writeDocuments(documents: Documents, head: Head, body: StreamedBody): Promise<void> {
  try {
    const pieces = piecesOf(documents);
    // The first document is read before the head is written: a failure until then has a response of its own.
    let next = await pieces.next();
    body.begin(head.status, head.headers);
    for (; !next.done; next = await pieces.next()) await body.write(Buffer.from(next.value));
    await body.end(Buffer.alloc(0));
  } finally {
    body.close();
  }
}

function layoutOf({ lines, frame }: Pick<Rows, 'lines' | 'frame'>): Layout {
  return lines ? linesLayout(lines) : arrayLayout(frame ?? ['', '']);
}

function arrayLayout([before, after]: readonly [before: string, after: string]): Layout {
  return {
    before,
    write: (chunk, isFirst) => {
      const documents = joinInPlace(chunk, COMMA);
      if (isFirst && documents.length > 0) documents[0] = OPEN_BRACKET;
      return documents;
    },
    after: (isEmpty) => `${isEmpty ? '[]' : ']'}${after}`,
  };
}

function linesLayout({ header, lineOf }: Lines): Layout {
  if (lineOf) return { before: header, write: (chunk) => linesFrom(chunk, lineOf), after: () => '' };
  return {
    before: header,
    write: (chunk, isFirst) => joinInPlace(chunk, LINE_FEED).subarray(isFirst ? 1 : 0),
    after: (isEmpty) => (isEmpty ? '' : '\n'),
  };
}

async function linesFrom(chunk: Buffer, lineOf: NonNullable<Lines['lineOf']>): Promise<Buffer> {
  let text = '';
  for (const document of documentsOf(chunk)) {
    await turn();
    const line = lineOf(document);
    text += typeof line === 'string' ? line : await line;
  }
  return Buffer.from(text);
}
