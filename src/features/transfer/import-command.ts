import { parse as parsePath } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { parse } from '../../cli/arguments.js';
import { configOf, fileOf, InputError, type Io, UsageError } from '../../cli/io.js';
import { logOf, openForCommand } from '../../cli/with-database.js';
import type { Reference, Resource } from '../../collection/resource.js';
import type { Config } from '../../config/config.js';
import type { Database } from '../../db/open-database.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import type { ExitCode } from '../../errors/exit-error.js';
import { hashOnAllCores } from '../../passwords/password-queue.js';
import { ensureCollections, storedResources } from '../../schema/ensure-collections.js';
import { migrateCollections } from '../../schema/migrate-collections.js';
import { COMMANDS } from './commands.js';
import { OWNED_FIELDS } from './csv-header.js';
import { declareSources } from './declare-sources.js';
import type { OnConflict } from './id-conflicts.js';
import { ImportReport } from './import-report.js';
import type { ImportOptions } from './import-run.js';
import { importSources } from './import-sources.js';
import { type Input, openFile, spool } from './input.js';
import { LEGACY_ID, oldIdField } from './reference-names.js';
import { type Source, type SourceOptions, sourcesOf } from './sources.js';

/** A file of an import. `as`: the collection of its records; `fallback`: that of a file which names none. */
interface NamedFile extends Pick<SourceOptions, 'as' | 'fallback'> {
  readonly file: string;
}

/** Loads the records of files. Throws ExitError; refused records are printed, and make the exit code that it returns 1. */
export async function importCommand(args: string[], io: Io): Promise<ExitCode> {
  const { files, options } = readArguments(args, io);
  const inputs: Input[] = [];
  try {
    for (const { file } of files)
      inputs.push(await (file === '-' ? spool('-', io.stdin) : openFile(fileOf(io, file), file)));
    const found = await sourcesIn(inputs, files, options);
    if (io.process) {
      io.process.exitOnSignals();
      hashOnAllCores();
      // Batches die young. A larger space for them takes memory and saves no time.
      setFlagsFromString('--semi-space-growth-factor=1');
    }
    const config = configOf(io);
    if (!options.infer) return await importInto(config, found, options);
    const { folder: collections, sources, undo } = await declareSources(found, config, options);
    if (!options.dryRun) return await importInto({ ...config, collections }, sources, options, undo);
    options.report.end();
    return 0;
  } finally {
    for (const input of inputs) input.close();
  }
}

/** Imports sources. `undo` removes their declarations if nothing is stored. Refused records make the exit code 1. Throws ExitError. */
async function importInto(
  config: Config,
  sources: readonly Source[],
  options: ImportOptions,
  undo?: () => void,
): Promise<ExitCode> {
  const { report } = options;
  let [database, fault]: [Database | undefined, unknown] = [undefined, undefined];
  try {
    database = await openForCommand(report.io, config);
    const declarations = await loadDeclarations(config);
    if (options.infer) await migrateCollections(database.url, declarations);
    await ensureCollections(database, declarations, config.migrate, logOf(report.io, config));
    const resources = await storedResources(database, declarations);
    // The import itself opens connections of its own.
    await database.db.close();
    requireFit(sources, resources, options);
    await importSources({ ...config, url: database.url }, resources, sources, options);
  } catch (error) {
    fault = error;
  } finally {
    await database?.close();
  }
  if (undo && report.count('stored') + report.count('unchanged') === 0) {
    undo();
    report.note('Nothing was stored: the new declarations are removed.');
  }
  if (fault === undefined || report.hasBegun) report.end();
  if (fault !== undefined) throw fault;
  return report.count('refused') > 0 ? 1 : 0;
}

/** Throws InputError for sources and lookups that the collections cannot have. */
function requireFit(
  sources: readonly Source[],
  resources: readonly Resource[],
  { rename, lookups }: ImportOptions,
): void {
  const byName = new Map(resources.map((each) => [each.name, each]));
  for (const source of sources) {
    const resource = byName.get(source.collection);
    if (!resource)
      throw new InputError(
        `there is no collection ${source.collection}: there are ${[...byName.keys()].join(', ')}`,
      );
    requireHeader(source, resource, rename);
  }
  for (const [field, { to, by }] of lookups) {
    const isReference = (each: Reference) => each.field === field && each.to === to;
    if (!sources.some(({ collection }) => byName.get(collection)!.references.some(isReference)))
      throw new InputError(
        `--lookup: no collection of this import has a field ${field} that refers to ${to}`,
      );
    const column = byName.get(to)?.columns.get(by);
    if (!column?.isIndexed || !['text', 'double precision'].includes(column.type))
      throw new InputError(`--lookup: ${to} has no text or number ${by} with x-unique or x-index`);
  }
}

/** Throws InputError for a header with which every record would be refused, with its columns and the fields. */
function requireHeader(
  { header, input }: Source,
  resource: Resource,
  rename: ReadonlyMap<string, string>,
): void {
  if (!header) return;
  const { properties, required, additionalProperties } = resource.schema as Resource['schema'] & {
    additionalProperties?: unknown;
  };
  const columns = header.names.filter((name) => name !== undefined);
  const fields = columns.map((name) => rename.get(name) ?? name);
  const idField = oldIdField(fields, resource);
  const present = new Set([...fields, idField && LEGACY_ID]);
  const missing = required.filter((name) => !present.has(name) && !('default' in properties[name]!));
  const known = new Set([...Object.keys(properties), ...OWNED_FIELDS, '_links', idField]);
  const surplus = additionalProperties === false ? fields.filter((field) => !known.has(field)) : [];
  if (missing.length + surplus.length === 0) return;
  const faults = [
    ['the header lacks', missing],
    [`${resource.name} has no field`, surplus],
    ['columns:', columns],
    ['fields:', Object.keys(properties)],
  ] as const;
  const lines = faults.map(([text, names]) => (names.length === 0 ? '' : `\n  ${text} ${names.join(', ')}`));
  throw new InputError(
    `${input.name}: every record of ${resource.name} would be refused${lines.join('')}\n  --rename COLUMN=FIELD gives a column the name of a field`,
  );
}

/** The records of all files, by collection. Throws InputError. */
async function sourcesIn(
  inputs: readonly Input[],
  files: readonly NamedFile[],
  { infer, report }: ImportOptions,
): Promise<Source[]> {
  const onOther = (name: string) => report.note(`${name} is not an array of records: left out.`);
  const all = new Map<string, Source>();
  for (const [at, input] of inputs.entries()) {
    const given = { ...files[at]!, onOther: infer ? onOther : undefined };
    for (const source of await sourcesOf(input, given)) {
      const other = all.get(source.collection)?.input;
      if (other && other !== input)
        throw new InputError(`${other.name} and ${input.name} both hold records of ${source.collection}`);
      all.set(source.collection, source);
    }
  }
  return [...all.values()];
}

/** Throws UsageError. */
function readArguments(
  args: string[],
  io: Io,
): { readonly files: readonly NamedFile[]; readonly options: ImportOptions } {
  const { values, positionals } = parse(COMMANDS, 'import', '', args);
  const files = filesOf(positionals, values.as);
  const pairsOf = (option: 'rename' | 'lookup', form: string, pattern: RegExp) =>
    (values[option] ?? []).map((text) => {
      const [, ...parts] = pattern.exec(text) ?? [];
      if (parts.length === 0) throw new UsageError(`--${option} must be ${form}, not ${text}`, 'import');
      return parts as [string, string, string];
    });
  const renames = pairsOf('rename', 'FROM=TO', /^([^=]+)=(.+)$/s);
  const lookups = pairsOf('lookup', 'FIELD=COLLECTION.FIELD', /^([^=]+)=([a-z][a-z0-9_]*)\.(.+)$/s);
  const { strict, resume, infer, 'dry-run': dryRun, 'on-conflict': conflict } = values;
  if (resume && values.restart)
    throw new UsageError('--resume goes on, and --restart begins anew: choose one', 'import');
  if (resume && dryRun)
    throw new UsageError('--dry-run stores nothing that --resume could continue', 'import');
  return {
    files,
    options: {
      infer,
      strict,
      resume,
      keepIds: values['keep-ids'] || conflict !== undefined ? true : undefined,
      onConflict: (conflict ?? 'fail') as OnConflict,
      dryRun,
      restart: values.restart,
      rename: new Map(renames.map(([from, to]) => [from, to])),
      lookups: new Map(lookups.map(([field, to, by]) => [field, { to, by }])),
      report: new ImportReport(io, values.json, dryRun),
    },
  };
}

const NAME = /^[a-z][a-z0-9_]*$/;
const NAMED = /^([a-z][a-z0-9_]*)=(.+)$/s;

/** The files that the arguments name: one, perhaps after the name of its collection, or several. Throws UsageError. */
function filesOf(positionals: readonly string[], as: string | undefined): NamedFile[] {
  const [first, second, third] = positionals;
  if (as !== undefined && second !== undefined)
    throw new UsageError('name one file, or several without a collection', 'import');
  if (as !== undefined) return [{ file: first!, as }];
  if (second !== undefined && third === undefined && NAME.test(first!) && !NAMED.test(second))
    return [{ file: second, as: first }];
  return positionals.map((text) => {
    const [, name, file = text] = NAMED.exec(text) ?? [];
    const fallback = second === undefined ? undefined : parsePath(file).name;
    return { file, as: name, fallback: fallback !== undefined && NAME.test(fallback) ? fallback : undefined };
  });
}
