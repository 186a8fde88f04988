import type { Io } from '../../cli/io.js';
import { logOf, openForCommand } from '../../cli/with-database.js';
import type { Reference, Resource } from '../../collection/resource.js';
import type { Config } from '../../config/config.js';
import type { DeclaredField } from '../../declarations/declaration.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import { type ExitCode, ExitError } from '../../errors/exit-error.js';
import { Problem } from '../../errors/problem.js';
import { ensureCollections, storedResources } from '../../schema/ensure-collections.js';
import { migrateCollections } from '../../schema/migrate-collections.js';
import { OWNED_FIELDS } from './csv-header.js';
import type { ImportReport } from './import-report.js';
import type { ImportOptions, Lookup } from './import-run.js';
import { importSources, type Load } from './import-sources.js';
import { FileError } from './input.js';
import { LEGACY_ID, oldIdField } from './reference-names.js';
import type { Source } from './sources.js';

/** The options of the command, from which those of the import follow. */
export interface LoadOptions extends Omit<ImportOptions, 'recordLimit'> {
  readonly io: Io;
  readonly infer: boolean;
  readonly report: ImportReport;
}

/** The collections that this run has declared, and what removes their declarations. */
export interface Inferred {
  readonly names: readonly string[];
  readonly undo: () => void;
}

/** Imports sources. Throws ExitError and what no record has caused; refused records make the exit code 1. */
export async function importInto(
  config: Config,
  sources: readonly Source[],
  options: LoadOptions,
  { names, undo }: Inferred = { names: [], undo: () => undefined },
): Promise<ExitCode> {
  const log = logOf(options.io, config);
  const database = await openForCommand(options.io, config).catch((error: unknown) => {
    undo();
    throw error;
  });
  try {
    const declarations = await loadDeclarations(config);
    let loaded: Load;
    try {
      if (options.infer) await migrateCollections(database.url, declarations);
      await ensureCollections(database, declarations, config.migrate, log);
      const resources = await storedResources(database, declarations);
      // The import itself opens connections of its own.
      await database.db.close();
      loaded = await load(database.url, resources, sources, config, options);
    } catch (error) {
      undo();
      throw error;
    }
    if (names.length > 0 && loaded.imported.every(({ stored, unchanged }) => stored + unchanged === 0)) {
      undo();
      options.report.note('Nothing was stored: the new declarations are removed.');
    }
    return endWith(options.report, loaded);
  } finally {
    await database.close();
  }
}

async function load(
  url: string,
  resources: readonly Resource[],
  sources: readonly Source[],
  { events, tombstones, databaseEngine, bodyLimit: recordLimit }: Config,
  options: LoadOptions,
): Promise<Load> {
  const names = resources.map(({ name }) => name);
  const unknown = sources.find(({ collection }) => !names.includes(collection));
  if (unknown)
    throw new FileError(`there is no collection ${unknown.collection}: there are ${names.join(', ')}`);
  for (const source of sources)
    requireHeader(source, resources.find(({ name }) => name === source.collection)!, options.rename);
  for (const [field, lookup] of options.lookups) requireLookup(field, lookup, sources, resources);
  const target = { url, resources, events, tombstones, databaseEngine };
  return importSources(target, sources, { ...options, recordLimit });
}

/** Throws FileError for a header with which every record would be refused, with its columns and the fields. */
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
  const hasDefault = (name: string) =>
    (properties[name] as DeclaredField & { default?: unknown })?.default !== undefined;
  const missing = required.filter(
    (name) => !fields.includes(name) && !hasDefault(name) && !(name === LEGACY_ID && idField !== undefined),
  );
  const isKnown = (field: string) =>
    Object.hasOwn(properties, field) || field === idField || [...OWNED_FIELDS, '_links'].includes(field);
  const unknown = fields.filter((field) => !isKnown(field));
  const surplus = additionalProperties === false ? unknown : [];
  if (missing.length === 0 && surplus.length === 0) return;
  throw new FileError(
    [
      `${input.name}: every record of ${resource.name} would be refused`,
      ...(missing.length === 0 ? [] : [`  the header lacks ${missing.join(', ')}`]),
      ...(surplus.length === 0 ? [] : [`  ${resource.name} has no field ${surplus.join(', ')}`]),
      `  columns: ${columns.join(', ')}`,
      `  fields: ${Object.keys(properties).join(', ')}`,
      '  --rename COLUMN=FIELD gives a column the name of a field',
    ].join('\n'),
  );
}

/** Throws FileError for a lookup that no collection of the sources can have. */
function requireLookup(
  field: string,
  { to, by }: Lookup,
  sources: readonly Source[],
  resources: readonly Resource[],
): void {
  const isReference = (each: Reference) => each.field === field && each.to === to;
  const isImported = ({ name }: Resource) => sources.some(({ collection }) => collection === name);
  const column = resources.find(({ name }) => name === to)?.columns.get(by);
  if (!resources.some((each) => isImported(each) && each.references.some(isReference)))
    throw new FileError(`--lookup: no collection of this import has a field ${field} that refers to ${to}`);
  if (!column?.isIndexed || !LOOKED_UP.includes(column.type))
    throw new FileError(`--lookup: ${to} has no text or number ${by} with x-unique or x-index`);
}

const LOOKED_UP = ['text', 'double precision'];

/** Prints what was loaded, and returns the exit code. Throws what has ended the load early. */
function endWith(report: ImportReport, { imported, fault, advice }: Load): ExitCode {
  const isRefused = imported.some(({ refused }) => refused > 0);
  if (advice !== undefined && isRefused) report.note(advice);
  report.end(imported);
  if (fault instanceof Problem)
    throw new ExitError(
      `the rest was not loaded: ${fault.message} See that the database runs and its disk has free space, then repeat the command with --resume.`,
    );
  if (fault !== undefined) throw fault;
  return isRefused ? 1 : 0;
}
