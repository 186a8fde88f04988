import { scanRow } from './csv-row.js';

/** The records of a part of a file, as ranges of its bytes. */
export interface Scan {
  readonly starts: number[];
  readonly ends: number[];
  /** For each record its line, from 1 on, or its index in an array, from 0 on. */
  readonly places: number[];
}

/** Finds the records in bytes that begin with one. */
export interface Scanner {
  /**
   * Adds the complete records from `from` on, of which the first has `place`. `isEnd`: nothing follows the bytes. Returns
   * where the first incomplete one begins, with its place; `isDone`: no more records follow.
   */
  scan(
    bytes: Buffer,
    from: number,
    place: number,
    isEnd: boolean,
    found: Scan,
  ): { next: number; place: number; isDone: boolean };
}

const [LINE_FEED, CARRIAGE_RETURN, QUOTE, BACKSLASH, COMMA] = [0x0a, 0x0d, 0x22, 0x5c, 0x2c];
const [SPACE, TAB, CLOSE_ARRAY] = [0x20, 0x09, 0x5d];

export const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;

/** One record a line; blank lines are skipped. */
export const NDJSON: Scanner = {
  scan(bytes, from, place, isEnd, found) {
    let [next, line] = [from, place];
    while (next < bytes.length) {
      let end = bytes.indexOf(LINE_FEED, next);
      if (end < 0 && !isEnd) break;
      if (end < 0) end = bytes.length;
      addLine(bytes, next, end, line++, found);
      next = end + 1;
    }
    return { next: Math.min(next, bytes.length), place: line, isDone: isEnd };
  },
};

function addLine(bytes: Buffer, start: number, lineEnd: number, line: number, found: Scan): void {
  const end = bytes[lineEnd - 1] === CARRIAGE_RETURN && lineEnd > start ? lineEnd - 1 : lineEnd;
  let at = start;
  while (at < end && isSpace(bytes[at])) at++;
  if (at < end) addRecord(start, end, line, found);
}

function addRecord(start: number, end: number, place: number, found: Scan): void {
  found.starts.push(start);
  found.ends.push(end);
  found.places.push(place);
}

/** Rows of CSV, whose place is the line on which they begin. */
export const csvScanner = (delimiter: number): Scanner => ({
  scan(bytes, from, place, isEnd, found) {
    let [next, line] = [from, place];
    while (next < bytes.length) {
      const scanned = scanRow(bytes, next, delimiter, isEnd);
      if (!scanned) break;
      // A line of spaces is no row, and one of delimiters is.
      if (scanned.row.starts.length > 1) addRecord(next, scanned.row.end, line, found);
      else addLine(bytes, next, scanned.row.end, line, found);
      line += scanned.row.breaks + 1;
      next = scanned.next;
    }
    return { next: Math.min(next, bytes.length), place: line, isDone: isEnd };
  },
});

/** The elements of a JSON array, after its opening bracket. */
export const ELEMENTS: Scanner = {
  scan(bytes, from, place, isEnd, found) {
    let [next, index] = [from, place];
    for (;;) {
      while (isSpace(bytes[next]) || bytes[next] === COMMA) next++;
      if (bytes[next] === CLOSE_ARRAY) return { next, place: index, isDone: true };
      const end = endOfValue(bytes, next);
      if (end === undefined) return { next, place: index, isDone: isEnd };
      addRecord(next, end, index++, found);
      next = end;
    }
  },
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
