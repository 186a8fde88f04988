import type { Json } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { chunksOf } from './chunks.js';
import { ANY, type Cell, readCell, readExportedCell } from './csv-cell.js';
import { csvRecord } from './csv-record.js';
import { readRecord, withNames } from './read-record.js';
import type { Source } from './sources.js';

const CHUNK_BYTES = 262_144;

/**
 * The records of a source that can be read, with new names of fields by `rename`. `read` reads the cells of CSV that no export
 * wrote.
 */
export async function* recordsOf(
  { input, scanner, from, header }: Source,
  rename: ReadonlyMap<string, string>,
  read: (cell: Cell) => Json | undefined = (cell) => readCell(cell, ANY),
): AsyncGenerator<Json> {
  const types = header?.names.map(() => ANY) ?? [];
  const columns = header && { ...header, types, read: header.isExport ? readExportedCell : read };
  for await (const { bytes, starts, ends } of chunksOf(
    input.read(from.position),
    scanner,
    from,
    CHUNK_BYTES,
  )) {
    for (const [at, start] of starts.entries()) {
      await turn();
      const record = recordIn(bytes.subarray(start, ends[at]), columns, rename);
      if (record !== undefined) yield record;
    }
  }
}

/** A value that is not a record is refused when it is imported. */
function recordIn(
  bytes: Buffer,
  columns: Parameters<typeof csvRecord>[1] | undefined,
  rename: ReadonlyMap<string, string>,
): Json | undefined {
  try {
    const place = { offset: 0, line: 0 };
    const record = columns
      ? csvRecord(bytes, columns, Number.POSITIVE_INFINITY, place)
      : readRecord(bytes, bytes.length, 0);
    return record === undefined ? undefined : withNames(record, rename);
  } catch {
    return undefined;
  }
}

/** The first record of a source that can be read; undefined: there is none. */
export async function firstRecord(
  source: Source,
  rename: ReadonlyMap<string, string>,
): Promise<Json | undefined> {
  for await (const record of recordsOf(source, rename)) return record;
  return undefined;
}
