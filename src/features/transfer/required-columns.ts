import type { Resource } from '../../collection/resource.js';
import type { DeclaredField } from '../../declarations/declaration.js';
import { editDistance } from '../../errors/edit-distance.js';
import { OWNED_FIELDS } from './csv-header.js';
import { FileError } from './input.js';
import { LEGACY_ID, oldIdField, plainName } from './reference-names.js';
import type { Source } from './sources.js';

/**
 * Throws FileError for a header with which every record would be refused, with its columns and with the options --rename that
 * may be meant.
 */
export function requireHeader(
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
  const wanted =
    missing.length > 0 ? missing : Object.keys(properties).filter((name) => !fields.includes(name));
  const options = proposalsOf(wanted, unknown);
  throw new FileError(
    [
      `${input.name}: every record of ${resource.name} would be refused`,
      ...(missing.length === 0 ? [] : [`  the header lacks ${missing.join(', ')}`]),
      ...(surplus.length === 0 ? [] : [`  ${resource.name} has no field ${surplus.join(', ')}`]),
      `  columns: ${columns.join(', ')}`,
      `  fields: ${Object.keys(properties).join(', ')}`,
      ...(options.length === 0 ? [] : [`  do you mean ${options.join(' ')}`]),
    ].join('\n'),
  );
}

/** For each field the column whose name is most like it. */
function proposalsOf(wanted: readonly string[], columns: readonly string[]): string[] {
  const free = new Set(columns);
  return wanted.flatMap((field) => {
    const [best] = [...free]
      .map((column) => ({ column, distance: distanceOf(column, field) }))
      .sort((a, b) => a.distance - b.distance);
    // The pair that remains when one field and one column are left.
    const isOnly = wanted.length === 1 && free.size === 1;
    if (!best || (!isOnly && best.distance > Math.max(2, field.length / 3))) return [];
    free.delete(best.column);
    const option = `${best.column}=${field}`;
    return [`--rename ${/^[\w.=-]+$/.test(option) ? option : `'${option.replaceAll("'", "'\\''")}'`}`];
  });
}

/** 0: a name contains the other. */
function distanceOf(column: string, field: string): number {
  const [a, b] = [column, field].map((name) => plainName(name).replace(/[^\p{L}\p{N}]/gu, '')) as [
    string,
    string,
  ];
  return a !== '' && (a.includes(b) || b.includes(a)) ? 0 : editDistance(a.slice(0, 100), b.slice(0, 100));
}
