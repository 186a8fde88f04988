import type { Json } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { chunksOf } from './chunks.js';
import { ANY, type Cell, readCell, readExportedCell } from './csv-cell.js';
import { recordIn } from './read-rows.js';
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
  for await (const chunk of chunksOf(input.read(from.position), scanner, from, { size: CHUNK_BYTES }))
    for (const scanned of chunk.records) {
      await turn();
      let record: Json | undefined;
      try {
        record = recordIn(chunk, scanned, columns, rename, Number.POSITIVE_INFINITY);
      } catch {
        // The import refuses the record.
      }
      if (record !== undefined) yield record;
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
