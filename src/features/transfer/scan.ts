import { type CsvRow, scanRow } from './csv-row.js';

/** A record in a part of a file. */
export interface ScannedRecord {
  readonly start: number;
  readonly end: number;
  /** The line of the record, from 1 on, or its index in an array, from 0 on. */
  readonly place: number;
  /** The lines of the record, and the cells of CSV; absent: it is an element of an array. */
  readonly row?: CsvRow;
}

/**
 * Adds complete records of bytes, in which one with `place` begins at `from`, up to `max`. `isEnd`: nothing follows the bytes. Returns
 * where the next one begins, with its place; `isDone`: no more records follow.
 */
export type Scanner = (
  scan: Readonly<{ bytes: Buffer; from: number; place: number; isEnd: boolean; max: number }>,
  found: ScannedRecord[],
) => Readonly<{ next: number; place: number; isDone: boolean }>;

const [LINE_FEED, CARRIAGE_RETURN, QUOTE, BACKSLASH, COMMA] = [0x0a, 0x0d, 0x22, 0x5c, 0x2c];
const [SPACE, TAB, CLOSE_ARRAY] = [0x20, 0x09, 0x5d];

const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;

/** Records of one or several lines. The place of a record is its first line. `rowAt`: the one at an offset; undefined: it may go on after the bytes. */
const lineScanner =
  (rowAt: (bytes: Buffer, at: number, isEnd: boolean) => CsvRow | undefined): Scanner =>
  ({ bytes, from, place, isEnd, max }, found) => {
    let [next, line] = [from, place];
    while (next < bytes.length && found.length < max) {
      // Millions of empty lines, each as a row, would hold up other requests.
      if (bytes[next] === LINE_FEED) {
        next++;
        line++;
        continue;
      }
      const row = rowAt(bytes, next, isEnd);
      if (!row) break;
      const record = { start: next, end: row.end, place: line, row };
      // A line of spaces is no record, and one of delimiters is.
      if (row.starts.length > 1 || !isBlank(bytes, record)) found.push(record);
      line += row.breaks + 1;
      next = row.next;
    }
    return { next: Math.min(next, bytes.length), place: line, isDone: isEnd };
  };

function isBlank(bytes: Buffer, { start, end }: Pick<ScannedRecord, 'start' | 'end'>): boolean {
  let at = start;
  while (at < end && isSpace(bytes[at])) at++;
  return at === end;
}

/** Rows of CSV. */
export const csvScanner = (delimiter: number): Scanner =>
  lineScanner((bytes, at, isEnd) => scanRow(bytes, at, delimiter, isEnd));

/** A line has no cells. */
const NO_CELLS = { starts: [], ends: [], isQuoted: [], breaks: 0, fault: undefined };

/** One record a line. */
export const NDJSON: Scanner = lineScanner((bytes, at, isEnd) => {
  const found = bytes.indexOf(LINE_FEED, at);
  if (found < 0 && !isEnd) return undefined;
  const stop = found < 0 ? bytes.length : found;
  const end = stop > at && bytes[stop - 1] === CARRIAGE_RETURN ? stop - 1 : stop;
  return { ...NO_CELLS, end, next: stop + 1 };
});

/** The elements of a JSON array, after its opening bracket. */
export const ELEMENTS: Scanner = ({ bytes, from, place, isEnd, max }, found) => {
  let [start, index] = [from, place];
  for (;;) {
    if (found.length === max) return { next: start, place: index, isDone: false };
    while (isSpace(bytes[start]) || bytes[start] === COMMA) start++;
    if (bytes[start] === CLOSE_ARRAY) return { next: start, place: index, isDone: true };
    const end = endOfValue(bytes, start);
    if (end === undefined) return { next: start, place: index, isDone: isEnd };
    found.push({ start, end, place: index++ });
    start = end;
  }
};

/** The offset after a JSON value; undefined if it may continue after the bytes. */
function endOfValue(bytes: Buffer, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at++;
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      if (at >= bytes.length) return undefined;
      if (depth === 0) return at + 1;
    } else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === CLOSE_ARRAY) {
      // A scalar ends before the bracket of its array.
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at;
  }
  return undefined;
}
