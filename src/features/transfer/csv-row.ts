const [LINE_FEED, CARRIAGE_RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

/** The cells of a row of CSV, as ranges of bytes without the quotation marks around them. */
export interface CsvRow {
  readonly starts: number[];
  readonly ends: number[];
  /** Whether each cell is within quotation marks. */
  readonly isQuoted: boolean[];
  /** The offset after the row, without its line break. */
  end: number;
  /** The offset of the next row. */
  next: number;
  /** The line breaks within the row. */
  breaks: number;
  /** The first malformed quotation, if there is one. */
  fault: { readonly reason: string; readonly breaks: number } | undefined;
}

/**
 * Reads the row of CSV (RFC 4180) that begins at an offset; undefined: it may continue after the bytes, unless these are at
 * the end. A line break is LF, CR or CR LF. A quotation mark within a cell that does not begin with one is literal, as
 * spreadsheets have it. After a malformed quotation the row goes on to the end of its line.
 */
export function scanRow(bytes: Buffer, from: number, delimiter: number, isEnd: boolean): CsvRow | undefined {
  const row: CsvRow = {
    starts: [],
    ends: [],
    isQuoted: [],
    end: from,
    next: from,
    breaks: 0,
    fault: undefined,
  };
  let at = from;
  for (;;) {
    const isQuoted = bytes[at] === QUOTE;
    row.isQuoted.push(isQuoted);
    row.starts.push(isQuoted ? at + 1 : at);
    if (isQuoted) {
      const close = closingQuote(bytes, at + 1);
      if (close === undefined && !isEnd) return undefined;
      row.ends.push(close ?? bytes.length);
      const opened = row.breaks;
      row.breaks += breaksIn(bytes, at + 1, close ?? bytes.length);
      at = close === undefined ? bytes.length : close + 1;
      if (close === undefined) row.fault ??= { reason: UNCLOSED, breaks: opened };
      else if (at < bytes.length && !isBoundary(bytes[at]!, delimiter))
        row.fault ??= { reason: TEXT_AFTER, breaks: row.breaks };
    }
    while (at < bytes.length && !isBoundary(bytes[at]!, delimiter)) at++;
    if (!isQuoted) row.ends.push(at);
    if (bytes[at] === delimiter) {
      at++;
      continue;
    }
    row.end = at;
    const next = afterBreak(bytes, at);
    row.next = next ?? bytes.length;
    return next === undefined && !isEnd ? undefined : row;
  }
}

const UNCLOSED = 'has a quotation mark that is not closed';
const TEXT_AFTER = 'has text after the quotation mark that closes a cell';

const isBoundary = (byte: number, delimiter: number) =>
  byte === delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN;

/** The offset of the quotation mark that closes a cell; undefined: there is none, or another one may follow it. */
function closingQuote(bytes: Buffer, from: number): number | undefined {
  for (let at = bytes.indexOf(QUOTE, from); at >= 0; at = bytes.indexOf(QUOTE, at + 2))
    if (bytes[at + 1] !== QUOTE) return at;
  return undefined;
}

/** The offset after a line break; undefined: it may continue after the bytes, or there is none. */
function afterBreak(bytes: Buffer, at: number): number | undefined {
  if (bytes[at] === LINE_FEED) return at + 1;
  if (at + 1 >= bytes.length) return undefined;
  return bytes[at + 1] === LINE_FEED ? at + 2 : at + 1;
}

function breaksIn(bytes: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++)
    if (bytes[at] === LINE_FEED || (bytes[at] === CARRIAGE_RETURN && bytes[at + 1] !== LINE_FEED)) count++;
  return count;
}

/** The text of each cell, from bytes that are UTF-8. */
export function cellsOf(bytes: Buffer, { starts, ends, isQuoted }: CsvRow): string[] {
  return starts.map((start, at) => {
    const text = bytes.toString('utf8', start, ends[at]);
    return isQuoted[at] && text.includes('"') ? text.replaceAll('""', '"') : text;
  });
}
