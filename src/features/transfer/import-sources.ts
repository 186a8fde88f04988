import { createHash } from 'node:crypto';
import type { Resource } from '../../collection/resource.js';
import { type BulkSettings, withBulkConnection } from '../../db/bulk-connection.js';
import { knownProblem } from '../../db/database-errors.js';
import type { Run } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import { ExitError } from '../../errors/exit-error.js';
import type { Json } from '../../json.js';
import { CollectionImport, StrictStop } from './import-collection.js';
import type { Progress } from './import-report.js';
import type { ImportOptions, ImportRun } from './import-run.js';
import { IMPORT_SQL, recordStatement } from './import-statements.js';
import { parentsFirst } from './parents-first.js';
import { isExported } from './record-identity.js';
import { recordsOf } from './source-records.js';
import type { Source } from './sources.js';

/**
 * Stores the records of each source with the checks of HTTP requests, in the order of the file, but parents first. References
 * to records of the sources follow their new ids. Each batch is one transaction, with the progress for `resume`. Throws ExitError
 * for what no record caused.
 */
export async function importSources(
  settings: BulkSettings & Pick<ImportRun, 'tombstones' | 'bodyLimit'> & { readonly url: string },
  all: readonly Resource[],
  sources: readonly Source[],
  options: ImportOptions,
): Promise<void> {
  const { tombstones, bodyLimit, url } = settings;
  const resources = new Map(all.map((resource) => [resource.name, resource]));
  const shared = { ...options, tombstones, bodyLimit, resources, key: keyOf(sources, options) };
  try {
    await withBulkConnection(url, settings, async (connection) => {
      const { dryRun } = options;
      if (dryRun) await connection.execute('begin');
      // After a crash of the server, its progress is that of its records. On Citus these are on other servers.
      else if (!connection.engine.isDistributed) await connection.execute('set synchronous_commit = off');
      await importAll({ ...shared, connection, retainsIds: false }, orderOf(sources, resources));
      if (dryRun) await connection.execute('rollback');
    });
  } catch (error) {
    if (error instanceof StrictStop) return;
    const problem = knownProblem(error);
    if (!problem) throw error;
    throw new ExitError(
      `the rest was not loaded: ${problem.message} See that the database runs and its disk has free space, then repeat the command with --resume.`,
    );
  }
}

async function importAll(open: ImportRun, ordered: readonly Source[]): Promise<void> {
  const { connection, key, keepIds, resources, resume, report } = open;
  await lockImport(connection.run, key);
  let progress = await readProgress(connection.run, key);
  if (!resume) {
    requireNoInterruption(progress, ordered, open);
    await connection.run(IMPORT_SQL.restart, [key]);
    progress = new Map();
  }
  const run = { ...open, retainsIds: keepIds ?? (await isRestored(open, ordered, progress)) };
  const referencesOf = ({ collection }: Source) => resources.get(collection)!.references;
  for (const given of ordered) {
    const { collection } = given;
    const isReferenced = ordered.some((each) => referencesOf(each).some(({ to }) => to === collection));
    const source = await parentsFirst(run, given);
    try {
      const recordsIds = isReferenced && !run.retainsIds;
      await new CollectionImport(run, source, recordsIds, progress.get(collection)).importAll();
    } finally {
      if (source !== given) source.input.close();
    }
  }
  // The last transaction waits until those before it are on the disk, too.
  if (!open.dryRun) await connection.execute('set synchronous_commit = on');
  await connection.run(IMPORT_SQL.forget_ids, [key]);
  const later = ordered.flatMap((source, at) =>
    referencesOf(source)
      .filter(({ to }) => ordered.findIndex(({ collection }) => collection === to) > at)
      .map(({ field }) => `${field} of ${source.collection}`),
  );
  if (later.length > 0 && report.count('refused') > 0)
    report.note(
      `Collections refer to each other. Import the records without ${later.join(' and ')} first, then all by --on-conflict replace.`,
    );
}

/** Locks an import for the session. Throws ExitError if another process imports the same, or an earlier version has begun it. */
async function lockImport(run: Run, key: string): Promise<void> {
  const [lock] = await run(IMPORT_SQL.lock_import, [key]);
  if (!lock?.locked) throw new ExitError('this file is being imported by another process');
  await run(IMPORT_SQL.forget_old, []);
  const [begun] = await run(IMPORT_SQL.begun_before, [key]);
  if (begun)
    throw new ExitError('an earlier version of plinth has begun this import: complete it with that version');
}

/** The progress of an import by collection. */
async function readProgress(run: Run, key: string): Promise<ReadonlyMap<string, Progress>> {
  const rows = await run(IMPORT_SQL.progress, [key]);
  return new Map(rows.map(({ collection, progress }) => [String(collection), JSON.parse(String(progress))]));
}

/** Throws ExitError if an interrupted import has stored records that this one would store again. */
function requireNoInterruption(
  progress: ReadonlyMap<string, Progress>,
  sources: readonly Source[],
  { restart, dryRun, keepIds }: ImportOptions,
): void {
  const stored = [...progress].flatMap(([name, { stored }]) =>
    stored ? [`${stored} records of ${name}`] : [],
  );
  const isFinished = sources.every(({ collection }) => progress.get(collection)?.finished);
  if (restart || dryRun || keepIds || stored.length === 0 || isFinished) return;
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
  const { run, engine } = connection;
  for (const { collection } of sources) {
    const { table } = resources.get(collection)!;
    const [row] = await run(fill(recordStatement(engine, 'is_empty'), { table }), []);
    if (row?.empty !== true) return false;
  }
  const firsts: Json[] = [];
  for (const source of sources)
    for await (const first of recordsOf(source, rename)) {
      firsts.push(first);
      break;
    }
  return firsts.length > 0 && firsts.every(isExported);
}

/** Identifies an import by its content, and by what is done with it. */
function keyOf(sources: readonly Source[], { rename, lookups, keepIds, onConflict }: ImportOptions): string {
  const digests = [...new Set(sources.map(({ input }) => input.digest))].join(' ');
  const names = sources.map(({ collection }) => collection);
  const options = [...rename, ...lookups];
  return createHash('sha256')
    .update(JSON.stringify([digests, names, options, keepIds, onConflict]))
    .digest('hex');
}

/** The sources in the order of the file, each after those to which it refers. In a circle, required references decide. */
function orderOf(sources: readonly Source[], resources: ReadonlyMap<string, Resource>): readonly Source[] {
  const byName = new Map(sources.map((source) => [source.collection, source]));
  const referred = (from: string) =>
    resources.get(from)!.references.filter(({ to }) => byName.has(to) && to !== from);
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    from === to ||
    referred(from).some((each) => seen.size < seen.add(each.to).size && reaches(each.to, to, seen));
  const ordered = new Set<string>();
  const add = (name: string, path: readonly string[]): void => {
    if (ordered.has(name) || path.includes(name)) return;
    const { required } = resources.get(name)!.schema;
    const first = referred(name).filter(({ field }) => required.includes(field));
    const others = referred(name).filter(({ to }) => !reaches(to, name));
    for (const { to } of [...first, ...others]) add(to, [...path, name]);
    ordered.add(name);
  };
  for (const { collection } of sources) add(collection, []);
  return [...ordered].map((name) => byName.get(name)!);
}
