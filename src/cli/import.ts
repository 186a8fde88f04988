import { setFlagsFromString } from 'node:v8';
import { type Config, readConfig } from '../config/config.js';
import { type Database, openDatabase } from '../db/open.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import type { Declarations } from '../declarations/read-declarations.js';
import { Problem } from '../errors/problem.js';
import { ExitError } from '../exit-error.js';
import { hashOnAllCores } from '../passwords/password-queue.js';
import { ensureCollections } from '../schema/ensure-collections.js';
import { migrateCollections } from '../schema/migrate-collections.js';
import { createLog } from '../telemetry/log.js';
import type { Source } from '../transfer/import-collection.js';
import { importSources, type Load } from '../transfer/import-sources.js';
import { FileError, openInput } from '../transfer/input.js';
import { sourcesOf } from '../transfer/sources.js';
import { parse } from './arguments.js';
import { exitOnSignals, UsageError } from './exit.js';
import { declareSources } from './import-infer.js';
import { ImportProgress } from './import-progress.js';
import { ImportReport } from './import-report.js';

interface Options {
  readonly file: string;
  readonly as: string | undefined;
  readonly strict: boolean;
  readonly resume: boolean;
  readonly infer: boolean;
  readonly report: ImportReport;
  readonly rename: ReadonlyMap<string, string>;
}

/** Loads the records of a file. Throws ExitError; refused records are printed, and make the exit code 1. */
export async function importCommand(args: string[]): Promise<void> {
  const options = readOptions(args);
  const input = await openInput(options.file, options.infer);
  try {
    const onOther = (name: string) => options.report.note(`${name} is not an array of records: left out.`);
    const found = await sourcesOf(input, options.as, options.infer ? onOther : undefined);
    exitOnSignals();
    hashOnAllCores();
    // Batches die young. A larger space for them takes memory and saves no time.
    setFlagsFromString('--semi-space-growth-factor=1');
    const { config, sources } = await prepareSources(found, options);
    await importInto(config, sources, { ...options, digest: input.digest });
  } finally {
    input.close();
  }
}

/** Declares the collections of the sources, if that is requested. */
async function prepareSources(
  sources: readonly Source[],
  { infer, report, rename }: Options,
): Promise<{ config: Config; sources: readonly Source[] }> {
  const config = readConfig();
  if (!infer) return { config, sources };
  const progress = new ImportProgress();
  const declared = await declareSources(
    sources,
    rename,
    config.collections,
    (line) => progress.show(line, true),
    report,
  );
  progress.clear();
  return { config: { ...config, collections: declared.folder }, sources: declared.sources };
}

async function importInto(
  config: Config,
  sources: readonly Source[],
  options: Options & { readonly digest: string },
): Promise<void> {
  const log = createLog(config.logLevel);
  const database = await openDatabase(config, log, { join: true });
  try {
    const declarations = await loadDeclarations(config);
    if (options.infer) await migrateCollections(database.url, declarations);
    // An interrupted import may have left a table without its indexes.
    await ensureCollections(database, declarations, options.resume ? 'auto' : config.migrate, log);
    // What follows has connections of its own.
    await database.db.close();
    endWith(options.report, await load(database, declarations, sources, config, options));
  } finally {
    await database.close();
  }
}

async function load(
  { url }: Database,
  declarations: Declarations,
  sources: readonly Source[],
  { events, tombstones, databaseEngine, bodyLimit }: Config,
  options: Options & { readonly digest: string },
): Promise<Load> {
  const resources = resourcesOf(declarations);
  const names = resources.map(({ name }) => name);
  const unknown = sources.find(({ collection }) => !names.includes(collection));
  if (unknown)
    throw new FileError(`there is no collection ${unknown.collection}: there are ${names.join(', ')}`);
  const progress = new ImportProgress();
  const buildIndexes = async () => {
    progress.show('building indexes', true);
    await migrateCollections(url, declarations, {
      onStep: ({ title }) => progress.show(title, true),
    });
  };
  const onIndex = (definition: string) =>
    progress.show(`building ${/index (\S+)/i.exec(definition)?.[1]}`, true);
  const target = { url, resources, events, tombstones, databaseEngine, buildIndexes, onIndex };
  const loaded = await importSources(target, sources, {
    ...options,
    recordLimit: bodyLimit,
    onRefused: (place, reason) => options.report.refused(place, reason, progress),
    onProgress: (collection, { stored, refused }, position, size) =>
      progress.showRecords(collection, stored + refused, position, size),
  });
  progress.clear();
  return loaded;
}

/** Prints what was loaded. Throws what has ended the load early. */
function endWith(report: ImportReport, { imported, fault }: Load): void {
  report.end(imported);
  if (imported.some(({ refused }) => refused > 0)) process.exitCode = 1;
  if (fault instanceof Problem)
    throw new ExitError(
      `the rest was not loaded: ${fault.message} See that the database runs and its disk has free space, then repeat the command with --resume.`,
    );
  if (fault !== undefined) throw fault;
}

/** Throws UsageError. */
function readOptions(args: string[]): Options {
  const { values, positionals } = parse('import', '', args);
  const [file, ...rest] = positionals.toReversed();
  const names = values.as === undefined ? rest : [...rest, values.as];
  if (file === undefined || names.length > 1) throw new UsageError('name one file', 'import');
  const renames = (values.rename ?? []).map((text): [string, string] => {
    const [, from, to] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (from === undefined || to === undefined)
      throw new UsageError(`--rename must be FROM=TO, not ${text}`, 'import');
    return [from, to];
  });
  const { strict, resume, infer } = values;
  const report = new ImportReport(values.json);
  return { file, as: names[0], strict, resume, infer, rename: new Map(renames), report };
}
