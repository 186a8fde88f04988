import { columnName } from '../declarations/column-of.js';
import type { DeclaredField, DeclaredSchema } from '../declarations/declaration.js';
import { LEGACY_ID } from './csv-record.js';
import type { CollectionStats, FieldStats } from './field-stats.js';

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
const SEARCHED: ReadonlySet<string> = new Set(['name', 'title']);

/**
 * Proposes the declaration of a collection from its records. A field `<name>Id` refers to the collection of this name.
 * `collections` are the new names of those in the file, and the declared ones.
 */
export function propose(
  name: string,
  { records, fields }: CollectionStats,
  collections: ReadonlyMap<string, string>,
): DeclaredSchema {
  const properties: Record<string, DeclaredField> = {};
  const columns = new Set<string>();
  for (const [field, stats] of fields) {
    if (OWNED.has(field)) continue;
    const to = referenceOf(field, stats, collections);
    const schema: DeclaredField =
      to === undefined ? fieldOf(field, stats) : { type: 'string', format: 'uuid', 'x-references': to };
    // Two names may have the same column.
    const isFree = !columns.has(columnName(field));
    columns.add(columnName(field));
    properties[field] = isFree ? schema : withoutColumn(schema);
  }
  const id = fields.get('id');
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

const nestedUnder = (name: string, properties: Readonly<Record<string, DeclaredField>>): string =>
  Object.keys(properties).find((field) => ![undefined, name].includes(properties[field]!['x-references']))!;

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
  const isScalar = typeof type === 'string' && ['integer', 'number', 'boolean'].includes(type);
  return {
    type,
    ...(format !== undefined && { format }),
    ...(items && { items }),
    ...((isScalar || isShort) && { 'x-index': true }),
    ...(isShort && SEARCHED.has(name) && { 'x-search': true }),
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
  const [, stem] = /^(.+?)(?:Id|_id)$/.exec(field) ?? [];
  if (stem === undefined || [...types].some((type) => type !== 'integer' && type !== 'string'))
    return undefined;
  const snake = stem.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
  const names = [stem, snake].flatMap((each) => [`${each}s`, each.replace(/y$/, 'ies'), `${each}es`, each]);
  const found = names.find((each) => collections.has(each));
  return found === undefined ? undefined : collections.get(found);
}

/** `order_lines` is Order line. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
