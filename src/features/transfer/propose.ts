import { MAX_INDEXED_BYTES } from '../../collection/column.js';
import type { Resource } from '../../collection/resource.js';
import type { DeclaredField, DeclaredSchema } from '../../declarations/declaration.js';
import { columnName, hasColumn } from '../../declarations/declared-column.js';
import { areIds, type CollectionStats, type FieldStats } from './collection-stats.js';
import { OWNED_FIELDS } from './csv-header.js';
import { LEGACY_ID, plainName, pluralsOf, stemOf } from './reference-names.js';

/** Bytes of texts that are worth an index. */
const MAX_SHORT = 100;
/** Columns of a collection, each with an index or more. */
const MAX_COLUMNS = 60;
/** Fields that people search: `title`, `name`, `companyName`, `first_name`. */
const SEARCHED = /name$|^title$/i;

/** Collections to which fields may refer, by plain names; `ids` undefined: the file does not have the records. */
export type Targets = ReadonlyMap<string, { readonly name: string; readonly ids?: ReadonlySet<string> }>;

/**
 * Proposes the declaration of a collection from its records. A field `<name>Id` refers to the collection of this name.
 * `base`: the collection of the service to which the declaration adds.
 */
export function propose(
  { name: { text: name }, records, fields, idField, isExport, source }: CollectionStats,
  targets: Targets,
  base: Resource | undefined,
): DeclaredSchema {
  // A column of CSV with a text, or a name that texts have: all of its cells are text.
  const isText = source.header?.isExport === false;
  const asText = (field: string, found: FieldStats): FieldStats =>
    isText && (found.types.has('string') || SEARCHED.test(field))
      ? { ...found, types: new Set(['string']) }
      : found;
  const properties = new Map<string, DeclaredField>();
  const columns = new Set<string>();
  for (const [field, found] of fields) {
    if ([...OWNED_FIELDS, '_links', LEGACY_ID, idField].includes(field)) continue;
    // Two names may have the same column, and a table has room for some columns.
    const isFree = !columns.has(columnName(field)) && columns.size < MAX_COLUMNS;
    const to = isFree && referenceOf(field, found, targets);
    const schema = to
      ? { type: 'string', format: 'uuid', 'x-references': to }
      : fieldOf(field, asText(field, found), isFree);
    if (hasColumn(schema)) columns.add(columnName(field));
    properties.set(field, schema);
  }
  const id = isExport ? undefined : fields.get(idField ?? '');
  const legacy = fields.get(LEGACY_ID);
  const isEither = id && legacy && legacy.present < records;
  const old = isEither ? eitherOf(id, legacy) : (legacy ?? id);
  if (old) properties.set(LEGACY_ID, legacyId(asText(legacy ? LEGACY_ID : idField!, old)));
  for (const field of Object.keys(base?.schema.properties ?? {})) properties.delete(field);
  // No request could create a record that must have an old id.
  const isRequired = (field: string) => field !== LEGACY_ID && fields.get(field)?.present === records;
  const required = [...properties.keys()].filter(isRequired);
  const nested = base ? undefined : nestedUnder(name, properties);
  return {
    ...(!base && { title: titleOf(name) }),
    type: 'object',
    ...((base || required.length > 0) && { required }),
    properties: Object.fromEntries(properties),
    ...(nested !== undefined && { 'x-collection': { nested } }),
  };
}

/** The reference to the records that these belong to: order_lines to `orderId`, others to the first. */
function nestedUnder(name: string, properties: ReadonlyMap<string, DeclaredField>): string | undefined {
  const fields = [...properties.keys()].filter(
    (field) => ![undefined, name].includes(properties.get(field)!['x-references']),
  );
  return fields.find((field) => plainName(name).startsWith(plainName(stemOf(field)!))) ?? fields[0];
}

/** The old ids of records of which some have a field for them: those of the others are their ids. */
const eitherOf = (id: FieldStats, legacy: FieldStats): FieldStats => ({
  ...id,
  types: new Set([...id.types, ...legacy.types]),
  maxBytes: Math.max(id.maxBytes, legacy.maxBytes),
  isUnique: false,
});

/** The old id, by which a second import of the record is refused, and later imports find the new id. */
function legacyId({ values, isUnique, maxBytes, types }: FieldStats): DeclaredField {
  const type = typeIn(types);
  const isOne = type === 'string' || type === 'integer' || type === 'number';
  if (!isOne || maxBytes > MAX_INDEXED_BYTES) return { readOnly: true };
  return { type, readOnly: true, [values && isUnique ? 'x-unique' : 'x-index']: true };
}

function fieldOf(
  name: string,
  { types, elements, maxBytes, formats }: FieldStats,
  mayHaveColumn: boolean,
): DeclaredField {
  const type = typeIn(types);
  const element = type === 'array' ? typeIn(elements) : 'null';
  const items = typeof element === 'string' && element !== 'null' ? { type: element } : undefined;
  const isShort = maxBytes <= MAX_SHORT && (type === 'string' || items?.type === 'string');
  const isIndexed = isShort || type === 'integer' || type === 'number' || type === 'boolean';
  return {
    type,
    ...(type === 'string' && formats.length > 0 && { format: formats[0]! }),
    ...(items && { items }),
    ...(mayHaveColumn && isIndexed && { 'x-index': true }),
    ...(mayHaveColumn && isShort && type === 'string' && SEARCHED.test(name) && { 'x-search': true }),
  };
}

/** One type, or several in a list. Integers are numbers where there are others. */
function typeIn(types: ReadonlySet<string>): string | string[] {
  const list = [...types].filter((type) => type !== 'integer' || !types.has('number'));
  return list.length === 1 ? list[0]! : list;
}

/** The collection to which `authorId` or `author_id` refers, if it has a record for every value. */
function referenceOf(field: string, { types, values }: FieldStats, targets: Targets): string | undefined {
  const stem = stemOf(field);
  if (stem === undefined || [...types].some((type) => type !== 'integer' && type !== 'string'))
    return undefined;
  const target = targets.get(pluralsOf(stem).find((each) => targets.has(each)) ?? '');
  return !target?.ids || areIds(values, target.ids) ? target?.name : undefined;
}

/** `order_lines` is Order line. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
