import { createHash } from 'node:crypto';
import type { Resource } from '../../collection/resource.js';
import { type BulkConnection, type BulkSettings, withBulkConnection } from '../../db/bulk-connection.js';
import { problemOf } from '../../db/database-errors.js';
import { ExitError } from '../../errors/exit-error.js';
import { Problem } from '../../errors/problem.js';
import { type Removed, settleReferences } from './deferred-references.js';
import { CollectionImport, isEmpty } from './import-collection.js';
import { orderOf } from './import-order.js';
import { forgetProgress, lockImport, type Progress, readProgress } from './import-progress.js';
import type { ImportOptions, ImportRun } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { isExported } from './record-identity.js';
import { reasonsOf } from './refusal-reasons.js';
import { registerSource, registration } from './registered-ids.js';
import { recordsOf } from './source-records.js';
import type { Source } from './sources.js';

/** Where an import goes. */
export interface ImportTarget extends BulkSettings {
  readonly url: string;
  readonly resources: readonly Resource[];
}

export interface Imported {
  readonly collection: string;
  readonly stored: number;
  readonly refused: number;
  /** Records whose retained id a stored record has, which stays as it is. */
  readonly unchanged: number;
}

export interface Load {
  readonly imported: readonly Imported[];
  /** The error that ended the load early and that no record caused. */
  readonly fault: unknown;
}

/**
 * Stores the records of each source with the checks of HTTP requests, in the order of the file, but parents first. References
 * to records of the sources follow their new ids. Each batch is one transaction, with the progress for `resume`.
 */
export async function importSources(
  target: ImportTarget,
  sources: readonly Source[],
  options: ImportOptions,
): Promise<Load> {
  const imported = new Map<string, Imported>();
  let fault: unknown;
  try {
    await withBulkConnection(target.url, target, async (connection) => {
      if (options.dryRun) await connection.execute('begin');
      // After a crash of the server, its progress is that of its records. On Citus these are on other servers.
      else if (!connection.engine.isDistributed) await connection.execute('set synchronous_commit = off');
      await importAll(connection, target, sources, options, imported);
      await connection.execute(options.dryRun ? 'rollback' : 'set synchronous_commit = on');
    });
  } catch (error) {
    fault = (error instanceof Problem ? error : problemOf(error)) ?? error;
  }
  return { imported: [...imported.values()], fault };
}

async function importAll(
  connection: BulkConnection,
  target: ImportTarget,
  sources: readonly Source[],
  options: ImportOptions,
  imported: Map<string, Imported>,
): Promise<void> {
  const key = keyOf(sources, options);
  const resources = new Map(target.resources.map((resource) => [resource.name, resource]));
  const { ordered, awaited } = orderOf(sources, resources);
  const { tombstones } = target;
  const open: ImportRun = { ...options, connection, key, resources, tombstones, awaited, retainsIds: false };
  const settle = () => settleReferences(open, (removed) => reportRemoved(removed, ordered, open, imported));
  await lockImport(connection.run, key);
  if (!options.resume) {
    requireNoInterruption(await readProgress(connection.run, key), ordered, options);
    // Of an import that was interrupted.
    await settle();
    await forgetProgress(connection.run, key);
  }
  const progress = await readProgress(connection.run, key);
  const run = { ...open, retainsIds: options.keepIds ?? (await isRestored(open, ordered, progress)) };
  for (const source of ordered)
    if (awaited.has(source.collection))
      await registerSource(run, source, progress.get(registration(source.collection)));
  const names = new Set(ordered.map(({ collection }) => collection));
  for (const source of ordered) {
    const { collection } = source;
    const each = new CollectionImport(run, source, names, progress.get(collection));
    try {
      await each.importAll();
    } finally {
      const { stored, refused, unchanged } = each.progress;
      imported.set(collection, { collection, stored, refused, unchanged });
    }
    if (options.strict && each.progress.refused > 0) break;
  }
  await settle();
  await connection.run(IMPORT_SQL.forget_ids, [key]);
}

/** Throws ExitError if an interrupted import has stored records that this one would store again. */
function requireNoInterruption(
  progress: ReadonlyMap<string, Progress>,
  sources: readonly Source[],
  { restart, dryRun, keepIds }: ImportOptions,
): void {
  const parts = sources.map(({ collection }) => ({ collection, ...progress.get(collection) }));
  const stored = parts
    .filter((part) => part.stored)
    .map((part) => `${part.stored} records of ${part.collection}`);
  if (restart || dryRun || keepIds || stored.length === 0 || parts.every(({ finished }) => finished)) return;
  throw new ExitError(
    `an import of this content was interrupted after ${stored.join(', ')}, which are stored. Continue it with --resume, or store them again with --restart.`,
  );
}

/** Whether the sources are an export, and there are no records: then theirs keep their ids. */
async function isRestored(
  { connection, resources, rename }: ImportRun,
  sources: readonly Source[],
  progress: ReadonlyMap<string, Progress>,
): Promise<boolean> {
  // An interrupted import goes on as it began.
  if (progress.size > 0) return [...progress.values()].some(({ retainsIds }) => retainsIds);
  for (const { collection } of sources)
    if (!(await isEmpty(connection, resources.get(collection)!))) return false;
  let isExport = false;
  for (const source of sources)
    for await (const first of recordsOf(source, rename)) {
      if (!isExported(first)) return false;
      isExport = true;
      break;
    }
  return isExport;
}

/** Reports a record that refers to a refused one, and is therefore refused itself. */
function reportRemoved(
  { collection, place, id, error }: Removed,
  sources: readonly Source[],
  { resources, onRefused }: ImportRun,
  imported: Map<string, Imported>,
): void {
  const source = sources.find((each) => each.collection === collection);
  const text = place === undefined ? `${collection} ${id}` : (source?.placeText(place) ?? collection);
  for (const [path, reason] of reasonsOf(error, resources.get(collection)!, undefined))
    onRefused(`${text}${path}`, reason);
  const count = imported.get(collection);
  if (count) imported.set(collection, { ...count, stored: count.stored - 1, refused: count.refused + 1 });
}

/** Identifies an import by its content, and by what is done with it. */
function keyOf(
  sources: readonly Source[],
  { digest, rename, lookups, keepIds, onConflict }: ImportOptions,
): string {
  const names = sources.map(({ collection }) => collection);
  const options = [...rename, ...lookups];
  return createHash('sha256')
    .update(JSON.stringify([digest, names, options, keepIds, onConflict]))
    .digest('hex');
}
