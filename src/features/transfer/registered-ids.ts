import { inTransaction } from '../../db/session.js';
import { idsInImport } from './follow-references.js';
import { beginning, type Progress, recordProgress } from './import-progress.js';
import type { Draft } from './import-row.js';
import type { ImportRun } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { readDrafts } from './read-rows.js';
import { identityWith } from './record-identity.js';
import { rulesOf, sourceChunks } from './source-records.js';
import type { Source } from './sources.js';

/** The name under which the ids by place, and the progress of registering ids, are stored: no collection has it. */
export const registration = (collection: string): string => `${collection}#`;

/** Stores the ids to which others refer by the old ones. */
export async function registerIds(
  { connection, key }: ImportRun,
  collection: string,
  pairs: readonly (readonly [old: string | undefined, id: string])[],
): Promise<void> {
  const known = pairs.filter(([old]) => old !== undefined);
  if (known.length > 0) await connection.run(IMPORT_SQL.record_ids, [key, collection, JSON.stringify(known)]);
}

/** Gives the records of a source their ids before any is stored, so that records can refer to later ones. */
export async function registerSource(
  run: ImportRun,
  source: Source,
  known: Progress | undefined,
): Promise<void> {
  let progress = known ?? beginning(source, run.retainsIds);
  if (progress.finished) return;
  const { collection } = source;
  const { connection, key } = run;
  const rules = rulesOf(run, source);
  const record = (next: Progress, drafts: readonly Draft[]) =>
    inTransaction(connection.execute, run.dryRun, async () => {
      const byPlace = drafts.map(({ place, id }) => [String(place), id] as const);
      await registerIds(run, registration(collection), byPlace);
      await registerIds(
        run,
        collection,
        drafts.map(({ oldId, id }) => [oldId, id]),
      );
      await recordProgress(connection.run, key, registration(collection), next);
      progress = next;
    });
  // A record that cannot be read is refused later, when it is imported.
  for await (const chunk of sourceChunks(source, progress.place))
    await record({ ...progress, ...chunk.next }, await readDrafts(chunk, rules, () => undefined));
  await record({ ...progress, finished: true }, []);
}

/** Drafts with the ids that were registered for them. */
export async function withRegisteredIds(
  { connection, key }: ImportRun,
  collection: string,
  drafts: readonly Draft[],
): Promise<readonly Draft[]> {
  const places = new Set(drafts.map(({ place }) => String(place)));
  const ids = await idsInImport(connection.run, places, key, registration(collection));
  return drafts.map((draft) => {
    const id = ids.get(String(draft.place));
    return id === undefined || draft.isRetained ? draft : { ...draft, ...identityWith(id) };
  });
}
