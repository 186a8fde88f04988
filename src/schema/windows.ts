import { createHash } from 'node:crypto';
import type { Column } from '../collection/column.js';
import type { Resource } from '../collection/resource.js';
import { tableName } from '../db/object-names.js';
import type { Declaration, DeclaredField } from '../declarations/declaration.js';
import { columnOf, hasColumn } from '../declarations/declared-column.js';
import { resourcesWithoutRefs } from '../declarations/resource-of.js';
import type { Catalog } from './catalog.js';
import { fieldWorks } from './field-steps.js';
import { isCollection, requireCollection } from './occupied.js';
import { appliedText } from './stricter-rules.js';

/** The tables that get another name, so that services with the former declarations cannot use them. */
export interface Windows {
  /** The names of tables after the plan, by the collections. */
  readonly names: ReadonlyMap<string, string>;
  /** The collections whose tables get another name. */
  readonly moved: ReadonlySet<string>;
  /** The collections that no service with a former declaration uses during the steps. */
  readonly fenced: ReadonlySet<string>;
  /** Former names of collections, and their names by the plan. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** Decides which collections change in a window. Throws RefusedError. On Citus only renamed ones get another table, and no fence. */
export function windowsOf(declarations: readonly Declaration[], catalog: Catalog): Windows {
  const { engine, tables, applied, windows, formerNames } = catalog;
  const [names, renamed] = [new Map<string, string>(), new Map<string, string>()];
  const [moved, fenced] = [new Set<string>(), new Set<string>()];
  const taken = new Set([...[...tables].map(([name, { table }]) => table ?? name), ...formerNames.keys()]);
  for (const [index, { writeOnly }] of resourcesWithoutRefs(declarations).entries()) {
    const declaration = declarations[index]!;
    const { name } = declaration;
    const was = storedName(declaration, declarations, catalog);
    const [before, begun] = [applied.get(was ?? ''), windows.get(was ?? '')];
    const hasBegun = begun === windowHash(declaration);
    const isRenamed = was !== undefined && was !== name;
    const isChanged = begun !== undefined || needsWindow(declaration, { writeOnly }, before);
    const isMoved = isRenamed || (was !== undefined && !engine.isDistributed && isChanged && !hasBegun);
    if (isRenamed) renamed.set(was, name);
    if (isMoved) moved.add(name);
    if (!engine.isDistributed && (isMoved || hasBegun)) fenced.add(name);
    const present = was === undefined || isMoved ? undefined : (tables.get(was)!.table ?? was);
    names.set(name, present ?? freeName(name, taken));
    taken.add(names.get(name)!);
  }
  return { names, moved, fenced, renamed };
}

/** The name by which a collection has a table; undefined: it is to be created. */
function storedName(
  { name, schema }: Declaration,
  declarations: readonly Declaration[],
  catalog: Catalog,
): string | undefined {
  if (catalog.tables.has(name)) {
    requireCollection(name, catalog);
    return name;
  }
  const was = schema['x-collection']?.was ?? '';
  return isCollection(was, catalog) && !declarations.some((each) => each.name === was) ? was : undefined;
}

/** The first of the names of a collection's table that nothing in the schema has. */
function freeName(collection: string, taken: ReadonlySet<string>): string {
  for (let windows = 0; ; windows++) {
    const name = tableName(collection, windows);
    if (!taken.has(name)) return name;
  }
}

/** The hash by which a window that has begun names the declaration to which it leads. */
export const windowHash = (declaration: Declaration): string =>
  createHash('sha256').update(appliedText(declaration)).digest('hex');

/**
 * Whether services with the former declaration would read or write wrong values of the changed fields: those that are renamed, have
 * another type or other steps of x-normalize, or become write-only.
 */
function needsWindow(
  declaration: Declaration,
  { writeOnly }: Pick<Resource, 'writeOnly'>,
  applied: string | undefined,
): boolean {
  if (applied === undefined) return false;
  const former = JSON.parse(applied) as Declaration['schema'];
  const fields = Object.entries(declaration.schema.properties);
  const before = new Map(Object.entries(former.properties));
  return (
    fieldWorks(declaration, former).some(({ kind }) => kind !== 'default-within') ||
    fields.some(([name, field]) => before.has(name) && isRetyped(before.get(name)!, field)) ||
    writeOnly.some((name) => before.has(name) && before.get(name)!.writeOnly !== true)
  );
}

/** Whether a field has another type. A type that is added or removed beside others is none. */
function isRetyped(former: DeclaredField, field: DeclaredField): boolean {
  if (hasColumn(former) && hasColumn(field)) return columnType(former) !== columnType(field);
  return !covers(former.type, field.type) && !covers(field.type, former.type);
}

const columnType = (field: DeclaredField): string => (columnOf('', field) as Column).type;

/** Whether all values of one `type` have another one. */
function covers(wide: DeclaredField['type'], narrow: DeclaredField['type']): boolean {
  if (wide === undefined || narrow === undefined) return wide === undefined;
  const types = [wide].flat();
  return [narrow]
    .flat()
    .every((each) => types.includes(each) || (each === 'integer' && types.includes('number')));
}
