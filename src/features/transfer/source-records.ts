import { compileInput } from '../../collection/validated-input.js';
import type { Json } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { type Chunk, chunkBytes, chunksOf } from './chunks.js';
import { ANY, readExportedCell, readInferredCell } from './csv-cell.js';
import { columnsOf } from './csv-record.js';
import { fieldsWithoutTexts } from './foreign-values.js';
import type { ImportRun } from './import-run.js';
import { type ReadRules, type RecordRules, recordIn } from './read-rows.js';
import type { ScannedRecord } from './scan.js';
import type { Source } from './sources.js';

/** The records of a source from the place `since` on, in chunks of about `size` bytes. */
export const sourceChunks = (
  { input, scanner, from }: Source,
  since?: number,
  size = chunkBytes(false),
): AsyncGenerator<Chunk> => chunksOf(input.read(from.position), scanner, from, { size, since });

/** The rules for the records of a source. */
export function rulesOf(
  { resources, rename, bodyLimit: maxBytes, retainsIds, infer: hasNulls }: ImportRun,
  { collection, header }: Source,
): RecordRules {
  const resource = resources.get(collection)!;
  const columns = header && columnsOf(header, resource, rename, 'import');
  return {
    ...{ resource, check: compileInput(resource), origin: 'import', rename, maxBytes, retainsIds, columns },
    ...{ hasNulls, adapted: fieldsWithoutTexts(resource) },
  };
}

/** A record of a source in its bytes; `record` undefined: it cannot be read, so that an import refuses it, or has no value. */
export interface ReadRecord {
  readonly bytes: Buffer;
  readonly scanned: ScannedRecord;
  readonly record: Json | undefined;
}

/** The records of a source by rules. */
export async function* readSource(source: Source, rules: ReadRules): AsyncGenerator<ReadRecord> {
  for await (const chunk of sourceChunks(source))
    for (const scanned of chunk.records) {
      await turn();
      const bytes = chunk.bytes.subarray(scanned.start, scanned.end);
      let record: Json | undefined;
      try {
        record = recordIn(chunk, scanned, rules);
      } catch {
        // The import refuses the record.
      }
      yield { bytes, scanned, record };
    }
}

/** The records of a source that can be read, with new names of fields by `rename`, and cells of CSV as their texts look. */
export async function* recordsOf(source: Source, rename: ReadonlyMap<string, string>): AsyncGenerator<Json> {
  const { header } = source;
  const types = header?.names.map(() => ANY) ?? [];
  const read = header?.isExport ? readExportedCell : readInferredCell;
  const rules = {
    columns: header && { ...header, types, read },
    rename,
    maxBytes: Number.POSITIVE_INFINITY,
    hasNulls: true,
  };
  for await (const { record } of readSource(source, rules)) if (record !== undefined) yield record;
}
