import { isUtf8 } from 'node:buffer';
import { notUtf8 } from '../../formats/text-encoding.js';
import type { Position } from './chunks.js';
import { cellsOf, scanRow } from './csv-row.js';
import { FileError, type Input } from './input.js';

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

/** Reads the header, with a given delimiter or the one that it uses most. Throws FileError. */
export function headerOf(
  { name, head, start, isWhole }: Pick<Input, 'name' | 'head' | 'start' | 'isWhole'>,
  delimiter?: number,
): CsvHeader {
  const opened = openingOf(head, start);
  const from = endOfBlank(head, opened.position);
  const place = opened.place + from.lines;
  const known = delimiter ?? opened.delimiter;
  const found = (known === undefined ? DELIMITERS : [known]).flatMap((each) => {
    const row = scanRow(head, from.position, each, isWhole);
    return row ? [{ row, delimiter: each }] : [];
  });
  const [first] = found;
  if (from.position >= head.length) throw new FileError(`${name} has no header`);
  if (!first) throw new FileError(`${name}: the header does not end within ${head.length} bytes`);
  // With another delimiter, what follows a quoted name is malformed.
  const best = found.filter(({ row }) => !row.fault).toSorted((a, b) => width(b) - width(a))[0] ?? first;
  if (best.row.fault)
    throw new FileError(`${name}:${place + best.row.fault.breaks}: the header ${best.row.fault.reason}`);
  const bytes = head.subarray(from.position, best.row.end);
  if (!isUtf8(bytes)) throw new FileError(`${name}:${place}: the header ${notUtf8(bytes, from.position)}`);
  const names = cellsOf(head, best.row).map((cell, at) =>
    cell === '' && !best.row.isQuoted[at] ? undefined : cell,
  );
  const named = names.filter((each) => each !== undefined);
  const seen = new Set<string>();
  const repeated = named.find((each) => seen.size === seen.add(each).size);
  if (repeated !== undefined)
    throw new FileError(`${name}: the header has ${repeated || '""'} more than once`);
  if (named.length === 0) throw new FileError(`${name} has no header`);
  return {
    names,
    nameBytes: bytes.length,
    delimiter: best.delimiter,
    from: { position: best.row.next, place: place + best.row.breaks + 1 },
    isExport: OWNED_FIELDS.every((each) => seen.has(each)),
  };
}

const width = ({ row }: { row: { starts: readonly number[] } }) => row.starts.length;

/** The line `sep=;` that names the delimiter to spreadsheets. */
function openingOf(head: Buffer, start: number): Position & { readonly delimiter?: number } {
  const [line, delimiter] = /^sep=(.)(?:\r\n|\r|\n)/i.exec(head.toString('latin1', start, start + 7)) ?? [];
  return line === undefined
    ? { position: start, place: 1 }
    : { position: start + line.length, place: 2, delimiter: delimiter!.charCodeAt(0) };
}

/** The end of the blank lines from an offset on. */
function endOfBlank(head: Buffer, start: number): { position: number; lines: number } {
  const [blank = ''] = /^(?:[ ]*(?:\r\n|\r|\n))*/.exec(head.toString('latin1', start)) ?? [];
  return { position: start + blank.length, lines: blank.match(/\r\n|\r|\n/g)?.length ?? 0 };
}

/** The delimiter that an argument names: one character, or `tab`. */
export function delimiterOf(text: string): number | undefined {
  const character = text === 'tab' || text === '\\t' ? '\t' : text;
  return /^[\t\x20-\x7e]$/.test(character) && character !== '"' ? character.charCodeAt(0) : undefined;
}
