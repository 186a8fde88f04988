import { compileInput } from '../../collection/validated-input.js';
import type { Json } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { type Chunk, chunksOf } from './chunks.js';
import { ANY, type Cell, readCell, readExportedCell } from './csv-cell.js';
import { columnsOf } from './csv-record.js';
import type { ImportRun } from './import-run.js';
import { type RecordRules, recordIn } from './read-rows.js';
import type { Source } from './sources.js';

const CHUNK_BYTES = 262_144;

/** The records of a source from the place `since` on, in chunks of about `size` bytes. */
export const sourceChunks = (
  { input, scanner, from }: Source,
  since?: number,
  size = CHUNK_BYTES,
): AsyncGenerator<Chunk> => chunksOf(input.read(from.position), scanner, from, { size, since });

/** The rules for the records of a source. */
export function rulesOf(
  { resources, rename, bodyLimit: maxBytes, retainsIds }: ImportRun,
  { collection, header }: Source,
): RecordRules {
  const resource = resources.get(collection)!;
  const columns = header && columnsOf(header, resource, rename, 'import');
  return { resource, check: compileInput(resource), origin: 'import', rename, maxBytes, retainsIds, columns };
}

/**
 * The records of a source that can be read, with new names of fields by `rename`. `read` reads the cells of CSV that no export
 * wrote.
 */
export async function* recordsOf(
  source: Source,
  rename: ReadonlyMap<string, string>,
  read: (cell: Cell) => Json | undefined = (cell) => readCell(cell, ANY),
): AsyncGenerator<Json> {
  const { header } = source;
  const types = header?.names.map(() => ANY) ?? [];
  const columns = header && { ...header, types, read: header.isExport ? readExportedCell : read };
  for await (const chunk of sourceChunks(source))
    for (const scanned of chunk.records) {
      await turn();
      let record: Json | undefined;
      try {
        record = recordIn(chunk, scanned, { columns, rename, maxBytes: Number.POSITIVE_INFINITY });
      } catch {
        // The import refuses the record.
      }
      if (record !== undefined) yield record;
    }
}
