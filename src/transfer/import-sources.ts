import { createHash } from 'node:crypto';
import type { Resource } from '../collection/resource.js';
import { type BulkSettings, withBulkConnection } from '../db/bulk-connection.js';
import { problemOf } from '../db/database-errors.js';
import { type Failure, Problem } from '../errors/problem.js';
import { escapeToken } from '../json.js';
import { CollectionImport, type ImportRun, type Source } from './import-collection.js';
import { STATEMENTS } from './import-statements.js';
import { buildAlone } from './indexes.js';
import { openProgress } from './progress.js';

export interface ImportOptions {
  /** Stop at the first record that is refused. */
  readonly strict: boolean;
  /** Continue an interrupted import of the same content. */
  readonly resume: boolean;
  /** Old name -> new name of top-level fields, for every record. */
  readonly rename: ReadonlyMap<string, string>;
  /** Max bytes of a record. */
  readonly recordLimit: number;
  /** Identifies what is imported. */
  readonly digest: string;
  /** Called for each reason to refuse a record, with its place in the file. */
  readonly onRefused: (place: string, reason: string) => void;
  /** Called after each batch. `position` and `size` are bytes of the file. */
  readonly onProgress: ImportRun['onProgress'];
}

/** Where an import goes. */
export interface ImportTarget extends BulkSettings {
  readonly url: string;
  readonly resources: readonly Resource[];
  /** Builds the indexes that the import has dropped, while clients are served. */
  readonly buildIndexes: () => Promise<void>;
  /** Called when the import begins to build an index. */
  readonly onIndex: (definition: string) => void;
}

export interface Imported {
  readonly collection: string;
  readonly stored: number;
  readonly refused: number;
}

export interface Load {
  readonly imported: readonly Imported[];
  /** The error that ended the load early and that no record caused. */
  readonly fault: unknown;
}

/**
 * Stores the records of each source with the checks of HTTP requests, in the order of the file, but parents first. Ids are new; references to parents in
 * the sources are replaced with the new ids. Each batch is one transaction, with the progress for `resume`.
 */
export async function importSources(
  target: ImportTarget,
  sources: readonly Source[],
  options: ImportOptions,
): Promise<Load> {
  const imported: Imported[] = [];
  const droppedIndexes: string[] = [];
  let fault: unknown;
  try {
    await withBulkConnection(target.url, target, async (connection) => {
      // After a crash of the server, its progress is that of its records. On Citus these are on other servers.
      if (connection.engine === 'postgresql') await connection.execute('set synchronous_commit = off');
      const key = keyOf(sources, options);
      const progress = await openProgress(connection.run, key, options.resume);
      const run: ImportRun = {
        ...options,
        connection,
        key,
        resources: new Map(target.resources.map((resource) => [resource.name, resource])),
        onRefused: (place, error) => {
          for (const [path, reason] of reasonsOf(error)) options.onRefused(`${place}${path}`, reason);
        },
        droppedIndexes,
      };
      const names = new Set(sources.map(({ collection }) => collection));
      for (const source of parentsFirst(sources, run.resources)) {
        const name = source.collection;
        const each = new CollectionImport(run, source, names, progress.get(name));
        try {
          await each.importAll();
        } finally {
          const { stored, refused } = each.progress;
          imported.push({ collection: name, stored, refused });
        }
        if (options.strict && each.progress.refused > 0) return;
      }
      await connection.execute('set synchronous_commit = on');
      await connection.run(STATEMENTS.get('forget_ids')!, [key]);
    });
  } catch (error) {
    fault = (error instanceof Problem ? error : problemOf(error)) ?? error;
  }
  if (droppedIndexes.length > 0 && !(await buildAlone(target.url, target, droppedIndexes, target.onIndex)))
    await target.buildIndexes();
  return { imported, fault };
}

/** Identifies an import by its content, and by what is done with it. */
function keyOf(sources: readonly Source[], { digest, rename }: ImportOptions): string {
  const names = sources.map(({ collection }) => collection);
  return createHash('sha256')
    .update(JSON.stringify([digest, names, [...rename]]))
    .digest('hex');
}

/** The sources in the order of the file, each after those to which it refers. */
function parentsFirst(sources: readonly Source[], resources: ReadonlyMap<string, Resource>): Source[] {
  const ordered = new Set<Source>();
  const add = (source: Source, path: readonly Source[]): void => {
    if (ordered.has(source) || path.includes(source)) return;
    for (const { to } of resources.get(source.collection)!.references)
      for (const parent of sources) if (parent.collection === to) add(parent, [...path, source]);
    ordered.add(source);
  };
  for (const source of sources) add(source, []);
  return [...ordered];
}

/** Each reason with the path to the field. Throws what no record has caused. */
function reasonsOf(error: unknown): [path: string, reason: string][] {
  const problem = error instanceof Problem ? error : problemOf(error);
  if (!problem || problem.status >= 500) throw problem ?? error;
  const { code, message, more } = problem;
  if (code === 'VALIDATION_ERROR') {
    return (more.details as readonly Failure[]).map(({ path, message }) => [path, message]);
  }
  const { path, field } = (more.details ?? {}) as { path?: string; field?: string };
  return [[path ?? (field === undefined ? '' : `/${escapeToken(field)}`), `${code}: ${message}`]];
}
