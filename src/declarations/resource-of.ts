import { type Column, WRITE_ONLY } from '../collection/column.js';
import {
  type DeclaredGrant,
  type NumberField,
  RANK,
  RELEVANCE,
  type Reference,
  type Resource,
  type SetField,
  type SortColumn,
} from '../collection/resource.js';
import { linksName, qualified } from '../db/object-names.js';
import { COMBINATIONS } from '../list/query-names.js';
import type { CollectionOptions, Declaration, DeclaredField, DeclaredSchema } from './declaration.js';
import { columnOf, declaredReference, hasColumn, placedColumn, type StoredType } from './declared-column.js';
import { CREDENTIALS, SIGN_IN_FILE } from './read-declarations.js';

/** Where collections are; a description of them needs neither. */
export interface ResourceOptions {
  /** Precedes the paths of links: PUBLIC_PREFIX. */
  readonly prefix?: string;
  readonly passwordRules?: Resource['passwordRules'];
  /** The schema of their tables. */
  readonly schema?: string;
  /** The columns of the tables; absent: there are no tables yet. */
  readonly typeOf?: StoredType;
  /** The name of a collection's table; undefined: that of the collection. */
  readonly tableOf?: (collection: string) => string | undefined;
  /** `fieldsSince` of collections, by their names; absent: no events are read. */
  readonly fieldsSince?: ReadonlyMap<string, Resource['fieldsSince']>;
}

/** The name in statements of the table of a collection, or of the links of an array. */
type SqlName = (name: string) => string;

/** The collections that valid declarations declare, in the same order. They cannot validate records whose schemas have `$ref`. */
export function resourcesWithoutRefs(
  declarations: readonly Declaration[],
  options: ResourceOptions = {},
): Resource[] {
  const { prefix = '', schema = 'collections', typeOf = () => undefined, tableOf, fieldsSince } = options;
  const { passwordRules } = options;
  const sqlName: SqlName = (name) => qualified(schema, tableOf?.(name) ?? name);
  const byName = new Map(declarations.map((declaration) => [declaration.name, declaration]));
  const resources = declarations.map((declaration) => ({
    ...resourceOf(declaration, byName, sqlName, typeOf),
    prefix,
    passwordRules,
    fieldsSince: fieldsSince?.get(declaration.name) ?? new Map<string, number>(),
  }));
  const sortsOf = new Map(
    resources.map(({ name, sorts }) => [name, [...sorts.keys()].filter((each) => sorts.get(each) !== RANK)]),
  );
  const isOfCallers = ({ to }: Reference) => resources.some(({ name, owner }) => owner && name === to);
  return resources.map((resource, at) => ({
    ...resource,
    ...permissionsOf(
      declarations[at]!.schema['x-collection'] ?? {},
      resource.scopes,
      resource.parent && isOfCallers(resource.parent) ? resource.parent : undefined,
    ),
    // No list has an order by one of several records.
    references: resource.references.map((each) => ({
      ...each,
      sorts: each.isList ? [] : (sortsOf.get(each.to) ?? []),
    })),
    referredBy: resources.flatMap(({ name, references, columns }) =>
      references
        .filter(({ to }) => to === resource.name)
        .map(({ field, isList }) => ({
          collection: name,
          field,
          links: isList ? linksName(name, columns.get(field)!.name) : undefined,
        })),
    ),
    children: resources.filter(({ parent }) => parent?.to === resource.name).map(({ name }) => name),
  }));
}

/** The word for one record, from the title: `Order line` is `order line`. */
function singularOf({ name, schema }: Declaration): string {
  return schema.title?.toLowerCase() ?? name.replace(/s$/, '');
}

/** The field that stands for a record where people read: the declared one, or a text that most likely names it. */
function displayOf(schema: DeclaredSchema): string | undefined {
  const { properties, required = [], 'x-collection': options = {} } = schema;
  const names = Object.keys(properties).filter((name) => isDisplayed(properties[name]!));
  const find = (test: (name: string, field: DeclaredField) => unknown) =>
    names.find((name) => test(name, properties[name]!));
  return (
    options.display ??
    find((name) => name === 'name') ??
    find((name) => name === 'title') ??
    find((name, field) => required.includes(name) && field['x-search']) ??
    find((_name, field) => field['x-index']) ??
    find((name) => required.includes(name))
  );
}

/** The field with the user that an invitation gives a record: a reference that requests set, if possible a required one. */
export function invitedField({ properties, required = [] }: DeclaredSchema): string | undefined {
  const names = Object.entries(properties)
    .filter(([, each]) => `${each['x-references']}.json` === SIGN_IN_FILE)
    .filter(([, each]) => !each.readOnly && !each['x-set'] && !each['x-import-only'])
    .map(([name]) => name);
  return names.find((name) => required.includes(name)) ?? names[0];
}

/** Whether a field is a text that may stand for a record. */
export const isDisplayed = (field: DeclaredField): boolean =>
  [field.type].flat().includes('string') &&
  !field.writeOnly &&
  !['x-references', 'enum', 'format'].some((keyword) => keyword in field);

function resourceOf(
  declaration: Declaration,
  byName: ReadonlyMap<string, Declaration>,
  sqlName: SqlName,
  typeOf: StoredType,
): Resource {
  const { name, schema } = declaration;
  const { properties, 'x-collection': options = {} } = schema;
  const fields = Object.entries(properties);
  // Fields that the service sets are read-only in every description of the collection.
  const described = fields.map(([field, rules]): [string, DeclaredField] => [
    field,
    rules['x-set'] === undefined ? rules : { ...rules, readOnly: true },
  ]);
  const named = (test: (field: DeclaredField) => unknown) =>
    fields.filter(([, field]) => test(field)).map(([field]) => field);
  const references = referencesOf(declaration, byName, sqlName);
  const hasPasswords = `${name}.json` === SIGN_IN_FILE;
  const writeOnly = named((field) => field.writeOnly).filter(
    (field) => !(hasPasswords && CREDENTIALS.includes(field)),
  );
  const { nested = false } = options;
  const columns = columnsOf(declaration, writeOnly, typeOf, sqlName);
  const parent = references.find(({ field, isList }) => !isList && (nested === true || nested === field));
  return {
    name,
    table: sqlName(name),
    prefix: '',
    singular: singularOf(declaration),
    schema: { ...schema, properties: Object.fromEntries(described), required: schema.required ?? [] },
    normalize: Object.fromEntries(fields.map(([field, { 'x-normalize': steps = [] }]) => [field, steps])),
    readOnly: named((field) => field.readOnly || field['x-set']),
    set: fields.flatMap(setField),
    numbers: fields.flatMap(numberField),
    immutable: named((field) => field['x-immutable']),
    writeOnly,
    hasPasswords,
    importOnly: named((field) => field['x-import-only']),
    columns,
    invited: options.invite ? invitedField(schema) : undefined,
    ...settingsOf(name, options),
    fieldsSince: new Map(),
    unique: [
      ...fields.flatMap(([field, { 'x-unique': unique }]) =>
        unique ? [{ fields: [field], code: unique === true ? 'DUPLICATE' : unique.code }] : [],
      ),
      ...(options.unique ?? []).map((key) => ('fields' in key ? key : { fields: key, code: 'DUPLICATE' })),
    ],
    references,
    parent: nested === false ? undefined : parent,
    display: displayOf(schema),
    callerField: undefined,
    filterable: named((field) => field['x-index'] || declaredReference(field) || field['x-unique']),
    sortable: named((field) => field['x-index'] && field.type !== 'array' && !field['x-references']),
    sorts: sortsOf(declaration, columns),
    searchable: named((field) => field['x-search'] === true),
    words: named((field) => field['x-search'] === 'words'),
    grants: [],
    hasRules: false,
    referredBy: [],
    children: [],
  };
}

/** The part of a resource that the options of its collection decide. */
const settingsOf = (name: string, options: NonNullable<DeclaredSchema['x-collection']>) => ({
  hasClientIds: options.ids === 'client',
  owner: options.owner ?? false,
  hasHistory: options.history ?? false,
  hidesActors: options.actors === 'hidden',
  group: options.group,
  list: options.list ?? ('array' as const),
  direction: options.sort === '-created_at' ? ('desc' as const) : ('asc' as const),
  hasTolerantLists: (options.lists ?? (options.sortKeys === 'one' ? 'tolerant' : 'strict')) === 'tolerant',
  language: options.language ?? 'simple',
  scopes: {
    read: (options.public ? undefined : options.scopes?.read) ?? `${name}:read`,
    write: options.scopes?.write ?? `${name}:write`,
  },
  requireIfMatch: options.requireIfMatch,
  absent: options.absent ?? ('simple' as const),
});

/** The references of a declaration. `sorts` has the names once all collections are known. */
function referencesOf(
  { schema }: Declaration,
  byName: ReadonlyMap<string, Declaration>,
  sqlName: SqlName,
): Reference[] {
  return Object.entries(schema.properties).flatMap(([field, rules]) => {
    const reference = declaredReference(rules);
    if (reference === undefined) return [];
    const { to, onDelete, isList } = reference;
    const singular = singularOf(byName.get(to)!);
    return [{ field, to, onDelete, isList, sorts: [], singular, table: sqlName(to) }];
  });
}

/** Each record has a time of creation, which is the beginning of its id. */
const CREATED: SortColumn = { name: 'id', type: 'uuid', isNullable: false, hasWholeOrder: true };
const UPDATED: SortColumn = { ...CREATED, name: 'updated_at', type: 'timestamptz' };

function sortsOf({ schema }: Declaration, columns: Resource['columns']): ReadonlyMap<string, SortColumn> {
  const { properties, required = [], 'x-collection': { index = [] } = {} } = schema;
  const declared = Object.entries(properties).flatMap(([field, rules]): [string, SortColumn][] => {
    const isIndexed = rules['x-index'] || rules['x-references'] || rules['x-unique'];
    const column = columns.get(field);
    if (!isIndexed || !column || column.isUnordered || column.type.endsWith('[]')) return [];
    const { name, type } = column;
    const isRequired = required.includes(field);
    const isNullable = !isRequired || (Array.isArray(rules.type) && rules.type.includes('null'));
    const hasOwnIndexes = rules['x-index'] && !rules['x-references'] && type !== 'boolean';
    const hasWholeOrder = !isNullable || (hasOwnIndexes && !(type === 'text' && isRequired)) === true;
    return [[field, { name, type, isNullable, hasWholeOrder }]];
  });
  const hasWords = Object.values(properties).some((rules) => rules['x-search'] === 'words');
  return new Map([
    ['created_at', CREATED],
    ...(index.includes('updated_at') ? [['updated_at', UPDATED] as const] : []),
    ...declared,
    ...(hasWords && !columns.has(RELEVANCE) ? [[RELEVANCE, RANK] as const] : []),
  ]);
}

function columnsOf(
  { name, schema }: Declaration,
  writeOnly: readonly string[],
  typeOf: StoredType,
  sqlName: SqlName,
) {
  const columns = Object.entries(schema.properties)
    .filter(([, field]) => hasColumn(field))
    .map(([field, rules]): [string, Column] => {
      const column = columnOf(field, rules) as Column;
      const placed = placedColumn(column, (each) => typeOf(name, each));
      const links = sqlName(linksName(name, placed.name));
      return [field, placed.type === 'uuid[]' ? { ...placed, links } : placed];
    });
  return new Map(writeOnly.length === 0 ? columns : [...columns, ['', WRITE_ONLY]]);
}

function setField([field, { 'x-set': set, 'x-references': to }]: [string, DeclaredField]): SetField[] {
  if (set === undefined || (typeof set === 'object' && 'next' in set)) return [];
  const { value, on = 'create', when } = typeof set === 'string' ? { value: set } : set;
  const conditions = when && Object.entries(when).map(([name, given]) => [name, [given].flat()] as const);
  const source = { value: value === '$caller' ? 'caller' : 'now', isReference: to !== undefined } as const;
  return [{ field, on, when: conditions, ...source }];
}

function numberField([field, { 'x-set': set }]: [string, DeclaredField]): NumberField[] {
  if (typeof set !== 'object' || !('next' in set)) return [];
  return [{ field, parent: set.next === true ? undefined : set.next }];
}

/**
 * The permissions of a collection: its access rules, or the grants for which its shorthands stand. `callers`: the reference to the
 * collection of callers below which the records are nested.
 */
function permissionsOf(
  { access, public: isPublic, owner }: CollectionOptions,
  { read, write }: Resource['scopes'],
  callers: Reference | undefined,
): Pick<Resource, 'grants' | 'hasRules' | 'callerField'> {
  const callerField = owner ? 'id' : callers?.field;
  if (access) return { grants: access, hasRules: true, callerField };
  const ofCaller: DeclaredGrant[] =
    callerField === undefined
      ? []
      : [{ can: owner ? ['read', 'update', 'delete'] : 'all', where: { [nameIn(callerField)]: '$caller' } }];
  const grants: DeclaredGrant[] = [
    isPublic ? { can: 'read', to: 'anyone' } : { can: 'read', scope: read },
    { can: 'all', scope: write },
    ...ofCaller,
  ];
  return { grants, hasRules: false, callerField };
}

/** The name of a field in conditions. */
const nameIn = (field: string): string => (COMBINATIONS.has(field) ? `\\${field}` : field);
