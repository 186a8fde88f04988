import type { Resource } from '../../collection/resource.js';
import { invalidBody } from '../../errors/input-errors.js';
import { markOf } from '../../formats/text-encoding.js';
import { CSV_TYPE } from '../../http/media-types.js';
import type { Position } from '../transfer/chunks.js';
import { headerOf } from '../transfer/csv-header.js';
import { type Columns, columnsOf } from '../transfer/csv-record.js';
import { FileError } from '../transfer/input.js';
import { csvScanner, NDJSON, type Scanner } from '../transfer/scan.js';

/** Where the records of a body are, and how they are read. */
export interface Layout {
  readonly scanner: Scanner;
  /** Where the records begin. */
  readonly from: Position;
  /** The columns of CSV. */
  readonly columns: Columns | undefined;
}

/** Bytes of the name of a column: each record repeats it, while its row has two bytes for it. */
const MAX_NAME_BYTES = 1000;

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** The layout of a body with this beginning; `isWhole`: nothing follows. Throws 400 for a header of CSV that is not one. */
export function layoutOf(type: string, head: Buffer, isWhole: boolean, resource: Resource): Layout {
  const { encoding, bytes: start } = markOf(head);
  if (encoding !== 'utf-8') throw invalidBody('must be UTF-8', 'encoding');
  if (type !== CSV_TYPE) return { scanner: NDJSON, from: { position: start, place: 1 }, columns: undefined };
  try {
    const header = headerOf({ name: 'body', head, start, isWhole });
    const isLong = (name: string | undefined) =>
      name !== undefined && Buffer.byteLength(name) > MAX_NAME_BYTES;
    if (header.names.some(isLong))
      throw invalidBody(`the header has a name of more than ${MAX_NAME_BYTES} bytes`, 'header');
    const columns = columnsOf(header, resource, NO_NAMES, 'request');
    return { scanner: csvScanner(header.delimiter), from: header.from, columns };
  } catch (error) {
    throw error instanceof FileError ? invalidBody(error.message, 'header') : error;
  }
}
