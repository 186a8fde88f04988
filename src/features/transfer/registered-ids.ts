import { compileInput } from '../../collection/validated-input.js';
import { inTransaction } from '../../db/session.js';
import { idsInImport } from './check-references.js';
import { chunksOf } from './chunks.js';
import { columnsOf } from './csv-record.js';
import { beginning, type Progress, recordProgress } from './import-progress.js';
import type { ImportRow } from './import-row.js';
import type { ImportRun } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { type RecordRules, readDrafts } from './read-rows.js';
import { identityWith } from './record-identity.js';
import type { Source } from './sources.js';

const CHUNK_BYTES = 262_144;

/** The name under which the ids by place, and the progress of registering ids, are stored: no collection has it. */
export const registration = (collection: string): string => `${collection}#`;

/** Stores the ids to which others refer by the old ones. */
export async function registerIds(
  { connection, key }: ImportRun,
  collection: string,
  pairs: readonly (readonly [old: string, id: string])[],
): Promise<void> {
  if (pairs.length > 0) await connection.run(IMPORT_SQL.record_ids, [key, collection, JSON.stringify(pairs)]);
}

/** Gives the records of a source their ids before any is stored, so that records can refer to later ones. */
export async function registerSource(
  run: ImportRun,
  source: Source,
  known: Progress | undefined,
): Promise<void> {
  let progress = known ?? beginning(source, run.retainsIds);
  if (progress.finished) return;
  const { rename, recordLimit: maxBytes, retainsIds, connection, key } = run;
  const { collection, input, scanner, from, header } = source;
  const { place } = progress;
  const resource = run.resources.get(collection)!;
  const columns = header && columnsOf(header, resource, rename, 'import');
  const rules: RecordRules = {
    resource,
    check: compileInput(resource),
    origin: 'import',
    rename,
    maxBytes,
    retainsIds,
    columns,
  };
  const record = (next: Progress, drafts: readonly ImportRow[]) =>
    inTransaction(connection.execute, run.isDryRun, async () => {
      const places = drafts.map(({ place, identity: { id } }) => [String(place), id] as const);
      const old = drafts.flatMap(({ oldId, identity: { id } }) =>
        oldId === undefined ? [] : [[oldId, id] as const],
      );
      await registerIds(run, registration(collection), places);
      await registerIds(run, collection, old);
      await recordProgress(connection.run, key, registration(collection), next);
      progress = next;
    });
  // A record that cannot be read is refused later, when it is imported.
  for await (const chunk of chunksOf(input.read(from.position), scanner, from, { size: CHUNK_BYTES })) {
    const records = chunk.records.filter((each) => each.place >= place);
    if (records.length > 0)
      await record(
        { ...progress, ...chunk.next },
        await readDrafts({ ...chunk, records }, rules, () => undefined),
      );
  }
  await record({ ...progress, finished: true }, []);
}

/** Gives drafts the ids that were registered for them. */
export async function useRegisteredIds(
  { connection, key }: ImportRun,
  collection: string,
  drafts: readonly ImportRow[],
): Promise<void> {
  const places = drafts.map(({ place }) => String(place));
  const ids = await idsInImport(connection.run, places, key, registration(collection));
  for (const draft of drafts) {
    const id = ids.get(String(draft.place));
    if (id !== undefined && !draft.identity.isRetained) draft.identity = identityWith(id);
  }
}
