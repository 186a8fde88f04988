import { MAX_INDEXED_BYTES } from '../../collection/column.js';
import type { DeclaredField, DeclaredSchema } from '../../declarations/declaration.js';
import { columnName, hasColumn } from '../../declarations/declared-column.js';
import { type Json, type JsonObject, setMember } from '../../json.js';
import type { CollectionStats, FieldStats } from './field-stats.js';
import { LEGACY_ID, plainName, pluralsOf, stemOf } from './reference-names.js';

/** Fields that the service sets. */
const OWNED: ReadonlySet<string> = new Set([
  'id',
  'created_at',
  'updated_at',
  '_version',
  '_links',
  LEGACY_ID,
]);
/** Bytes of texts that are worth an index. */
const MAX_SHORT = 100;
/** Fields that a declaration can have, besides the old id. The others are stored and not declared. */
const MAX_DECLARED = 199;
/** Columns of a collection, each with an index or more. */
const MAX_COLUMNS = 60;
/** Fields that people search: `title`, `name`, `companyName`, `first_name`. */
const SEARCHED = /name$|^title$/i;

/**
 * Proposes the declaration of a collection from its records. A field `<name>Id` refers to the collection of this name.
 * `collections` are those in the file whose records have ids, and the declared ones.
 */
export function propose(
  name: string,
  { records, fields, idField, isText, isExport }: CollectionStats,
  collections: ReadonlyMap<string, Target>,
): DeclaredSchema {
  const properties: Record<string, DeclaredField> = {};
  const declare = (field: string, schema: DeclaredField) =>
    setMember(properties as unknown as JsonObject, field, schema as Json);
  const columns = new Set<string>();
  for (const [field, found] of fields) {
    if (OWNED.has(field) || field === idField || !isDeclarable(field)) continue;
    if (Object.keys(properties).length === MAX_DECLARED) break;
    const stats = isText ? ofText(field, found) : found;
    const to = referenceOf(field, found, collections);
    const schema: DeclaredField =
      to === undefined ? fieldOf(field, stats) : { type: 'string', format: 'uuid', 'x-references': to };
    // Two names may have the same column, and a table has room for some columns.
    const isFree = !columns.has(columnName(field)) && columns.size < MAX_COLUMNS;
    if (isFree && hasColumn(schema)) columns.add(columnName(field));
    declare(field, isFree ? schema : withoutColumn(schema, found));
  }
  const id = idField === undefined || isExport ? undefined : fields.get(idField);
  const legacy = fields.get(LEGACY_ID);
  const old = legacy?.present === records || !id ? legacy : legacy ? eitherOf(id, legacy) : id;
  if (old) declare(LEGACY_ID, legacyId(isText ? ofText(old === id ? idField! : LEGACY_ID, old) : old));
  // No request could create a record that must have an old id.
  const required = Object.keys(properties).filter(
    (field) => field !== LEGACY_ID && fields.get(field)?.present === records,
  );
  const isNested = Object.values(properties).some(
    ({ 'x-references': to }) => to !== undefined && to !== name,
  );
  return {
    title: titleOf(name),
    type: 'object',
    ...(required.length > 0 && { required }),
    properties,
    ...(isNested && { 'x-collection': { nested: nestedUnder(name, properties) } }),
  };
}

/** Characters of a declared field's name. */
const MAX_NAME = 100;
const isDeclarable = (field: string) => [...field].length <= MAX_NAME && field !== '__proto__';

/** The reference to the records that these belong to: order_lines to `orderId`, others to the first. */
function nestedUnder(name: string, properties: Readonly<Record<string, DeclaredField>>): string {
  const references = Object.keys(properties).filter(
    (field) => ![undefined, name].includes(properties[field]!['x-references']),
  );
  const isOwner = (field: string) => plainName(name).startsWith(plainName(stemOf(field)!));
  return references.find(isOwner) ?? references[0]!;
}

/** The old id, by which a second import of the record is refused, and later imports find the new id. */
function legacyId({ types, values, isUnique, maxBytes }: FieldStats): DeclaredField {
  const type = typeIn(types);
  const isOne = typeof type === 'string' && ['string', 'integer', 'number'].includes(type);
  if (!isOne || maxBytes > MAX_INDEXED_BYTES) return { readOnly: true };
  return { type, readOnly: true, ...(values && isUnique ? { 'x-unique': true } : { 'x-index': true }) };
}

/** The old ids of records of which some have a field for them: those of the others are their ids. */
const eitherOf = (id: FieldStats, legacy: FieldStats): FieldStats => ({
  ...id,
  types: new Set([...id.types, ...legacy.types]),
  maxBytes: Math.max(id.maxBytes, legacy.maxBytes),
  isUnique: false,
});

/** A column of CSV: with a text, or a name that texts have, all of its cells are text. */
function ofText(field: string, stats: FieldStats): FieldStats {
  const { types, formats } = stats;
  if (!types.has('string') && !SEARCHED.test(field)) return stats;
  return { ...stats, types: new Set(['string']), formats: types.size === 1 ? formats : [] };
}

function fieldOf(name: string, { types, elements, maxBytes, formats }: FieldStats): DeclaredField {
  const type = typeIn(types);
  const format = type === 'string' ? formats?.[0] : undefined;
  const element = type === 'array' ? typeIn(elements) : undefined;
  const items = typeof element === 'string' && element !== 'null' ? { type: element } : undefined;
  const isShort = type === 'string' && maxBytes <= MAX_SHORT;
  const isTags = items?.type === 'string' && maxBytes <= MAX_SHORT;
  const isScalar = typeof type === 'string' && ['integer', 'number', 'boolean'].includes(type);
  return {
    type,
    ...(format !== undefined && { format }),
    ...(items && { items }),
    ...((isScalar || isShort || isTags) && { 'x-index': true }),
    ...(isShort && SEARCHED.test(name) && { 'x-search': true }),
  };
}

/** One type, or several in a list. Integers are numbers where there are others. */
function typeIn(types: ReadonlySet<string>): string | string[] {
  const list = [...types].filter((type) => type !== 'integer' || !types.has('number'));
  return list.length === 1 ? list[0]! : list;
}

/** A field without a column. A value that would refer to other records remains as it is in the file. */
function withoutColumn(
  { 'x-index': _, 'x-search': __, 'x-references': to, ...rest }: DeclaredField,
  { types }: FieldStats,
): DeclaredField {
  return to === undefined ? rest : { type: typeIn(types) };
}

/** A collection to which fields may refer. */
export interface Target {
  /** The collection's new name. */
  readonly name: string;
  /** The ids of its records; undefined: the file does not have them. */
  readonly ids: ReadonlySet<string> | undefined;
}

/** The collection to which `authorId` or `author_id` refers, if it has a record for every value. */
function referenceOf(
  field: string,
  { types, values }: FieldStats,
  collections: ReadonlyMap<string, Target>,
): string | undefined {
  const stem = stemOf(field);
  if (stem === undefined || [...types].some((type) => type !== 'integer' && type !== 'string'))
    return undefined;
  const targets = new Map([...collections].map(([given, target]) => [plainName(given), target]));
  const found = pluralsOf(stem).find((each) => targets.has(each));
  const target = found === undefined ? undefined : targets.get(found);
  if (!target?.ids) return target?.name;
  return values && [...values].every((value) => target.ids!.has(value)) ? target.name : undefined;
}

/** `order_lines` is Order line. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
