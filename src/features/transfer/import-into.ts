import { InputError } from '../../cli/io.js';
import { logOf, openForCommand } from '../../cli/with-database.js';
import type { Reference, Resource } from '../../collection/resource.js';
import type { Config } from '../../config/config.js';
import type { Database } from '../../db/open-database.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import type { ExitCode } from '../../errors/exit-error.js';
import { ensureCollections, storedResources } from '../../schema/ensure-collections.js';
import { migrateCollections } from '../../schema/migrate-collections.js';
import { OWNED_FIELDS } from './csv-header.js';
import type { Declared } from './declare-sources.js';
import type { ImportOptions } from './import-run.js';
import { importSources } from './import-sources.js';
import { LEGACY_ID, oldIdField } from './reference-names.js';
import type { Source } from './sources.js';

/** Imports sources, whose declarations `undo` removes if nothing is stored. Refused records make the exit code 1. Throws ExitError. */
export async function importInto(
  config: Config,
  sources: readonly Source[],
  options: ImportOptions,
  inferred?: Pick<Declared, 'undo'>,
): Promise<ExitCode> {
  const { report } = options;
  let [database, fault]: [Database | undefined, unknown] = [undefined, undefined];
  try {
    database = await openForCommand(report.io, config);
    const declarations = await loadDeclarations(config);
    if (inferred) await migrateCollections(database.url, declarations);
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
  if (inferred?.undo && report.count('stored') + report.count('unchanged') === 0) {
    inferred.undo();
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
  const present = new Set([...fields, ...(idField === undefined ? [] : [LEGACY_ID])]);
  const missing = required.filter((name) => !present.has(name) && !('default' in properties[name]!));
  const known = new Set([...Object.keys(properties), ...OWNED_FIELDS, '_links', idField]);
  const surplus = additionalProperties === false ? fields.filter((field) => !known.has(field)) : [];
  if (missing.length === 0 && surplus.length === 0) return;
  throw new InputError(
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
