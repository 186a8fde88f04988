import { type Column, WRITE_ONLY } from '../collection/column.js';
import type { Reference, Resource } from '../collection/resource.js';
import { qualified } from '../db/object-names.js';
import { columnOf, hasColumn, placedColumn, type StoredType } from './column-of.js';
import { CREDENTIALS } from './credential-faults.js';
import type { Declaration, DeclaredField } from './declaration.js';
import { SIGN_IN_FILE } from './read-declarations.js';

/** Where collections are; a description of them needs neither. */
export interface ResourceOptions {
  /** Precedes the paths of links: PUBLIC_PREFIX. */
  readonly prefix?: string;
  /** The schema of their tables. */
  readonly schema?: string;
  /** The columns of the tables; absent: there are no tables yet. */
  readonly typeOf?: StoredType;
}

/** The collections that valid declarations declare, in the same order. They cannot validate records whose schemas have `$ref`. */
export function resourcesWithoutRefs(
  declarations: readonly Declaration[],
  { prefix = '', schema = 'collections', typeOf = () => undefined }: ResourceOptions = {},
): Resource[] {
  const byName = new Map(declarations.map((declaration) => [declaration.name, declaration]));
  const resources = declarations.map((declaration) => ({
    ...resourceOf(declaration, byName, schema, typeOf),
    prefix,
  }));
  const owners = new Set(resources.filter(({ owner }) => owner).map(({ name }) => name));
  return resources.map((resource) => ({
    ...resource,
    isOwned: resource.parent !== undefined && owners.has(resource.parent.to),
    referredBy: resources.flatMap(({ name, references }) =>
      references.filter(({ to }) => to === resource.name).map(({ field }) => ({ collection: name, field })),
    ),
    children: resources.filter(({ parent }) => parent?.to === resource.name).map(({ name }) => name),
  }));
}

/** The word for one record, from the title: `Order line` is `order line`. */
export function singularOf({ name, schema }: Declaration): string {
  return schema.title?.toLowerCase() ?? name.replace(/s$/, '');
}

function resourceOf(
  declaration: Declaration,
  byName: ReadonlyMap<string, Declaration>,
  tables: string,
  typeOf: StoredType,
): Resource {
  const { name, schema } = declaration;
  const { properties, 'x-collection': options = {} } = schema;
  const fields = Object.entries(properties);
  const named = (test: (field: DeclaredField) => unknown) =>
    fields.filter(([, field]) => test(field)).map(([field]) => field);
  const references = fields.flatMap(
    ([field, { 'x-references': to, 'x-on-delete': onDelete = 'restrict' }]) =>
      to === undefined
        ? []
        : [
            {
              field,
              to,
              onDelete,
              singular: singularOf(byName.get(to)!),
              table: qualified(tables, to),
            } as Reference,
          ],
  );
  const hasPasswords = `${name}.json` === SIGN_IN_FILE;
  const writeOnly = named((field) => field.writeOnly).filter(
    (field) => !(hasPasswords && CREDENTIALS.includes(field)),
  );
  const { nested = false } = options;
  const parent = references.find(({ field }) => nested === true || nested === field);
  return {
    name,
    table: qualified(tables, name),
    prefix: '',
    singular: singularOf(declaration),
    schema: { ...schema, required: schema.required ?? [] },
    normalize: Object.fromEntries(fields.map(([field, { 'x-normalize': steps = [] }]) => [field, steps])),
    readOnly: named((field) => field.readOnly),
    writeOnly,
    hasPasswords,
    importOnly: named((field) => field['x-import-only']),
    columns: columnsOf(declaration, writeOnly, typeOf),
    unique: [
      ...fields.flatMap(([field, { 'x-unique': unique }]) =>
        unique ? [{ fields: [field], code: unique === true ? 'DUPLICATE' : unique.code }] : [],
      ),
      ...(options.unique ?? []).map((key) => ('fields' in key ? key : { fields: key, code: 'DUPLICATE' })),
    ],
    references,
    hasClientIds: options.ids === 'client',
    parent: nested === false ? undefined : parent,
    owner: options.owner ?? false,
    isOwned: false,
    list: options.list ?? 'array',
    direction: options.sort === '-created_at' ? 'desc' : 'asc',
    hasOneSort: options.sortKeys === 'one',
    filterable: named((field) => field['x-index'] || field['x-references'] || field['x-unique']),
    sortable: named((field) => field['x-index'] && field.type !== 'array' && !field['x-references']),
    searchable: named((field) => field['x-search']),
    scopes: {
      read: options.public === 'read' ? undefined : (options.scopes?.read ?? `${name}:read`),
      write: options.scopes?.write ?? `${name}:write`,
    },
    access: options.access,
    requireIfMatch: options.requireIfMatch,
    absent: options.absent ?? 'empty',
    referredBy: [],
    children: [],
  };
}

function columnsOf({ name, schema }: Declaration, writeOnly: readonly string[], typeOf: StoredType) {
  const columns = Object.entries(schema.properties)
    .filter(([, field]) => hasColumn(field))
    .map(([field, rules]): [string, Column] => {
      const column = columnOf(field, rules) as Column;
      return [field, placedColumn(column, (each) => typeOf(name, each))];
    });
  return new Map(writeOnly.length === 0 ? columns : [...columns, ['', WRITE_ONLY]]);
}
