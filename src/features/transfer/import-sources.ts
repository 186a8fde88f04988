import { createHash } from 'node:crypto';
import type { Resource } from '../../collection/resource.js';
import { type BulkSettings, withBulkConnection } from '../../db/bulk-connection.js';
import { problemOf } from '../../db/database-errors.js';
import { ExitError } from '../../errors/exit-error.js';
import { Problem } from '../../errors/problem.js';
import { CollectionImport, isEmpty } from './import-collection.js';
import {
  begunBefore,
  type ImportOptions,
  type ImportRun,
  lockImport,
  type Progress,
  readProgress,
} from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { parentsFirst } from './parents-first.js';
import { isExported } from './record-identity.js';
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
  /** Advice for records that refer to later collections; undefined: there are none. */
  readonly advice: string | undefined;
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
  const resources = new Map(target.resources.map((resource) => [resource.name, resource]));
  const { ordered, advice } = orderOf(sources, resources);
  const { tombstones } = target;
  let fault: unknown;
  try {
    await withBulkConnection(target.url, target, async (connection) => {
      if (options.dryRun) await connection.execute('begin');
      // After a crash of the server, its progress is that of its records. On Citus these are on other servers.
      else if (!connection.engine.isDistributed) await connection.execute('set synchronous_commit = off');
      const run = { ...options, connection, key: keyOf(sources, options), resources, tombstones };
      await importAll({ ...run, retainsIds: false }, ordered, imported);
      await connection.execute(options.dryRun ? 'rollback' : 'set synchronous_commit = on');
    });
  } catch (error) {
    fault = (error instanceof Problem ? error : problemOf(error)) ?? error;
  }
  return { imported: [...imported.values()], fault, advice };
}

async function importAll(
  open: ImportRun,
  ordered: readonly Source[],
  imported: Map<string, Imported>,
): Promise<void> {
  const { connection, key, keepIds, strict, resume } = open;
  await lockImport(connection.run, key);
  if (!resume) {
    requireNoInterruption(await readProgress(connection.run, key), ordered, open);
    await connection.run(IMPORT_SQL.restart, [key]);
  }
  const progress = await readProgress(connection.run, key);
  if ([...progress.keys()].some((name) => name.endsWith('#'))) throw begunBefore();
  const run = { ...open, retainsIds: keepIds ?? (await isRestored(open, ordered, progress)) };
  const names = new Set(ordered.map(({ collection }) => collection));
  for (const given of ordered) {
    const { collection } = given;
    const source = await parentsFirst(run, given);
    const each = new CollectionImport(run, source, names, progress.get(collection));
    try {
      await each.importAll();
    } finally {
      if (source !== given) source.input.close();
      const { stored, refused, unchanged } = each.progress;
      imported.set(collection, { collection, stored, refused, unchanged });
    }
    if (strict && each.progress.refused > 0) break;
  }
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

/** The sources in the order in which they are stored. */
interface ImportOrder {
  readonly ordered: readonly Source[];
  /** Advice for records that refer to a collection which is stored later; undefined: there is none. */
  readonly advice: string | undefined;
}

/** The sources in the order of the file, each after those to which it refers. In a circle, required references decide. */
function orderOf(sources: readonly Source[], resources: ReadonlyMap<string, Resource>): ImportOrder {
  const byName = new Map(sources.map((source) => [source.collection, source]));
  const referred = (
    from: string,
    isRequired?: boolean,
  ): { readonly to: string; readonly field: string }[] => {
    const resource = resources.get(from)!;
    return resource.references.filter(
      (each) =>
        byName.has(each.to) &&
        each.to !== from &&
        (isRequired === undefined || resource.schema.required.includes(each.field) === isRequired),
    );
  };
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    from === to ||
    referred(from).some((each) => seen.size < seen.add(each.to).size && reaches(each.to, to, seen));
  const ordered = new Set<string>();
  const add = (name: string, path: readonly string[]): void => {
    if (ordered.has(name) || path.includes(name)) return;
    for (const { to } of referred(name, true)) add(to, [...path, name]);
    for (const { to } of referred(name, false)) if (!reaches(to, name)) add(to, [...path, name]);
    ordered.add(name);
  };
  for (const { collection } of sources) add(collection, []);
  const names = [...ordered];
  const later = names.flatMap((from, at) =>
    referred(from)
      .filter(({ to }) => names.indexOf(to) > at)
      .map(({ field }) => `${field} of ${from}`),
  );
  return {
    ordered: names.map((name) => byName.get(name)!),
    advice:
      later.length === 0
        ? undefined
        : `Collections refer to each other. Import the records without ${later.join(' and ')} first, then all by --on-conflict replace.`,
  };
}
