import { isUtf8 } from 'node:buffer';
import { InputError } from '../../cli/io.js';
import { notUtf8 } from '../../formats/text-encoding.js';
import type { Position } from './chunks.js';
import { cellsOf } from './csv-row.js';
import type { Input } from './input.js';
import { csvScanner, type ScannedRecord } from './scan.js';

/** The columns of a file of CSV, and where its rows begin. */
export interface CsvHeader {
  /** The names; undefined: the column has none, and must be empty. */
  readonly names: readonly (string | undefined)[];
  /** Bytes of the header, at most: each record repeats the names. */
  readonly nameBytes: number;
  readonly delimiter: number;
  readonly from: Position;
  /** Whether an export wrote the file: then its cells distinguish text from other values. */
  readonly isExport: boolean;
}

/** Characters that separate the cells of a row, the first of equals first. */
const DELIMITERS = [',', ';', '\t', '|'].map((each) => each.charCodeAt(0));

/** The fields that the service owns, in every record of an export. */
export const OWNED_FIELDS = ['id', 'created_at', 'updated_at', '_version'];

/** Reads the header, with the delimiter that a line `sep=;` before it names to spreadsheets, or the one that it uses most. Throws InputError. */
export function headerOf({
  name,
  head,
  start,
  isWhole,
}: Pick<Input, 'name' | 'head' | 'start' | 'isWhole'>): CsvHeader {
  const [line = '', stated] = /^sep=(.)(?:\r\n|\r|\n)/i.exec(head.toString('latin1', start, start + 7)) ?? [];
  const first = {
    bytes: head,
    from: start + line.length,
    place: line === '' ? 1 : 2,
    isEnd: isWhole,
    max: 1,
  };
  const found = (stated === undefined ? DELIMITERS : [stated.charCodeAt(0)]).flatMap((delimiter) => {
    const records: ScannedRecord[] = [];
    csvScanner(delimiter)(first, records);
    return records.map((record) => ({ ...record, row: record.row!, delimiter }));
  });
  // With another delimiter, what follows a quoted name is malformed.
  const valid = found.filter(({ row }) => !row.fault).toSorted((a, b) => width(b) - width(a));
  const best = valid[0] ?? found[0];
  if (!best)
    throw new InputError(
      isWhole ? `${name} has no header` : `${name}: the header does not end within ${head.length} bytes`,
    );
  const { row, delimiter, place } = best;
  if (row.fault) throw new InputError(`${name}:${place + row.fault.breaks}: the header ${row.fault.reason}`);
  const bytes = head.subarray(best.start, row.end);
  if (!isUtf8(bytes)) throw new InputError(`${name}:${place}: the header ${notUtf8(bytes, best.start)}`);
  const names = cellsOf(head, row).map((cell, at) => (cell === '' && !row.isQuoted[at] ? undefined : cell));
  const named = names.filter((each) => each !== undefined);
  const seen = new Set<string>();
  const repeated = named.find((each) => seen.size === seen.add(each).size);
  if (repeated !== undefined)
    throw new InputError(`${name}: the header has ${repeated || '""'} more than once`);
  if (named.length === 0) throw new InputError(`${name} has no header`);
  return {
    names,
    nameBytes: bytes.length,
    delimiter,
    from: { position: row.next, place: place + row.breaks + 1 },
    isExport: OWNED_FIELDS.every((each) => seen.has(each)),
  };
}

const width = ({ row }: { row: { starts: readonly number[] } }) => row.starts.length;
