import { columnName } from '../declarations/column-of.js';
import type { DeclaredField, DeclaredSchema } from '../declarations/declaration.js';
import type { CollectionStats, FieldStats } from './field-stats.js';
import { LEGACY_ID, plainName, pluralsOf, stemOf } from './record-id.js';

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
/** Fields that people search: `title`, `name`, `companyName`, `first_name`. */
const SEARCHED = /name$|^title$/i;

/**
 * Proposes the declaration of a collection from its records. A field `<name>Id` refers to the collection of this name.
 * `collections` are the new names of those in the file whose records have ids, and the declared ones.
 */
export function propose(
  name: string,
  { records, fields, idField }: CollectionStats,
  collections: ReadonlyMap<string, string>,
): DeclaredSchema {
  const properties: Record<string, DeclaredField> = {};
  const columns = new Set<string>();
  for (const [field, stats] of fields) {
    if (OWNED.has(field) || field === idField) continue;
    const to = referenceOf(field, stats, collections);
    const schema: DeclaredField =
      to === undefined ? fieldOf(field, stats) : { type: 'string', format: 'uuid', 'x-references': to };
    // Two names may have the same column.
    const isFree = !columns.has(columnName(field));
    columns.add(columnName(field));
    properties[field] = isFree ? schema : withoutColumn(schema);
  }
  const id = idField === undefined ? undefined : fields.get(idField);
  if (id) properties[LEGACY_ID] = legacyId(id);
  const required = Object.keys(properties).filter((field) => fields.get(field)?.present === records);
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

/** The reference to the records that these belong to: order_lines to `orderId`, others to the first. */
function nestedUnder(name: string, properties: Readonly<Record<string, DeclaredField>>): string {
  const references = Object.keys(properties).filter(
    (field) => ![undefined, name].includes(properties[field]!['x-references']),
  );
  const isOwner = (field: string) => plainName(name).startsWith(plainName(stemOf(field)!));
  return references.find(isOwner) ?? references[0]!;
}

/** The old id, by which a second import of the record is refused, and later imports find the new id. */
function legacyId({ types }: FieldStats): DeclaredField {
  const type = typeIn(types);
  const isOne = typeof type === 'string' && ['string', 'integer', 'number'].includes(type);
  return isOne ? { type, readOnly: true, 'x-unique': true } : { readOnly: true };
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

function withoutColumn({
  'x-index': _,
  'x-search': __,
  'x-references': ___,
  ...rest
}: DeclaredField): DeclaredField {
  return rest;
}

/** The collection to which `authorId` or `author_id` refers. */
function referenceOf(
  field: string,
  { types }: FieldStats,
  collections: ReadonlyMap<string, string>,
): string | undefined {
  const stem = stemOf(field);
  if (stem === undefined || [...types].some((type) => type !== 'integer' && type !== 'string'))
    return undefined;
  const names = new Map([...collections].map(([given, name]) => [plainName(given), name]));
  const found = pluralsOf(stem).find((each) => names.has(each));
  return found === undefined ? undefined : names.get(found);
}

/** `order_lines` is Order line. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
