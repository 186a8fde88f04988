import { InputError } from '../../cli/io.js';
import { MAX_INDEXED_BYTES } from '../../collection/column.js';
import type { Resource } from '../../collection/resource.js';
import { isNameAvailable } from '../../declarations/check-declarations.js';
import { type DeclaredField, type DeclaredSchema, newDeclaration } from '../../declarations/declaration.js';
import { columnName, hasColumn } from '../../declarations/declared-column.js';
import { isObject } from '../../json.js';
import { CollectionStats, type FieldStats } from './collection-stats.js';
import { OWNED_FIELDS } from './csv-header.js';
import type { ImportReport } from './import-report.js';
import { LEGACY_ID, plainName, pluralsOf, stemOf } from './reference-names.js';
import { recordsOf } from './source-records.js';
import type { Source } from './sources.js';

/** The collections of the folder, which stay as they are; those of the service; the first segments of its own paths. */
interface Declared {
  readonly own: ReadonlySet<string>;
  readonly builtIn: readonly Resource[];
  readonly ownPaths: ReadonlySet<string>;
}
/** Collections to which fields may refer, by plain names; `ids` undefined: the file does not have the records. */
type Targets = ReadonlyMap<string, { readonly name: string; readonly ids?: ReadonlySet<string> }>;

/**
 * Reads all records of the sources, whose fields have new names by `rename`, and proposes declarations for them.
 * A collection is left out if none of its values is an object. Throws InputError if it is the only one.
 */
export async function infer(
  sources: readonly Source[],
  declared: Declared,
  rename: ReadonlyMap<string, string>,
  report: ImportReport,
): Promise<readonly CollectionStats[]> {
  const { own, builtIn } = declared;
  const all: CollectionStats[] = [];
  for (const source of sources) {
    const { collection } = source;
    const base = builtIn.find(({ name, hasPasswords }) => name === collection && hasPasswords);
    const stats = new CollectionStats(source, own.has(collection) ? undefined : base);
    report.showProgress(`reading ${collection}`);
    let hasOthers = false;
    for await (const record of recordsOf(source, rename))
      if (isObject(record)) stats.add(record);
      else hasOthers = true;
    if (stats.records > 0 || !hasOthers) all.push(stats);
    else if (sources.length > 1) report.note(`${collection} has no objects: left out.`);
    else throw new InputError(`${source.input.name} has no object in its array of records`);
  }
  nameAll(all, declared);
  // Records without ids cannot be referred to, and of too many it is not known to which.
  const targets: Targets = new Map([
    ...[...own].map((name) => [plainName(name), { name }] as const),
    ...all.flatMap(({ source, name, fields, idField = '' }) => {
      const ids = fields.get(idField)?.values;
      return ids ? [[plainName(source.collection), { name, ids }] as const] : [];
    }),
  ]);
  for (const stats of all) if (!own.has(stats.name)) stats.schema = propose(stats, targets);
  return all;
}

const MAX_NAME = 40;

/** Gives each collection a name that it can have; one that the file uses for a collection is not free for another one. */
function nameAll(all: readonly CollectionStats[], { own, builtIn, ownPaths }: Declared): void {
  const isFree = (name: string) =>
    builtIn.every((each) => each.name !== name) && isNameAvailable(name, ownPaths);
  const stays = ({ name, base, fault }: CollectionStats) =>
    own.has(name) || (base && !fault) || (snakeOf(name) === name && isFree(name));
  const used = new Set(all.filter(stays).map(({ name }) => name));
  for (const stats of all.filter((each) => !stays(each))) {
    const snake = snakeOf(stats.name);
    const wanted = isFree(snake) ? snake : `legacy_${snake}`.slice(0, MAX_NAME);
    stats.name = wanted;
    for (let number = 2; used.has(stats.name); number++) stats.name = `${wanted.slice(0, 36)}_${number}`;
    used.add(stats.name);
  }
}

const snakeOf = (given: string): string =>
  given
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_NAME) || 'records';

/** Bytes of texts that are worth an index; columns of a collection, each with an index or more. */
const [MAX_SHORT, MAX_COLUMNS] = [100, 60];
/** Fields that people search: `title`, `name`, `companyName`, `first_name`. */
const SEARCHED = /name$|^title$/i;

/** Proposes the declaration of a collection from its records. A field `<name>Id` refers to the collection of this name. */
function propose(
  { name, records, fields, idField, isExport, source, base, fault }: CollectionStats,
  targets: Targets,
): DeclaredSchema {
  const ofService = base && !fault ? base.schema.properties : {};
  // A column of CSV with a text, or a name that texts have: all of its cells are text.
  const isText = source.header?.isExport === false;
  const typesOf = (field: string, { types }: FieldStats): ReadonlySet<string> =>
    isText && (types.has('string') || SEARCHED.test(field)) ? new Set(['string']) : types;
  const properties = new Map<string, DeclaredField>();
  const columns = new Set<string>();
  for (const [field, found] of fields) {
    if ([...OWNED_FIELDS, '_links', LEGACY_ID, idField, ...Object.keys(ofService)].includes(field)) continue;
    // Two names may have the same column, and a table has room for some columns.
    const isFree = !columns.has(columnName(field)) && columns.size < MAX_COLUMNS;
    const to = isFree && referenceOf(field, found, targets);
    const schema = to
      ? { type: 'string', format: 'uuid', 'x-references': to }
      : fieldOf(field, found, typesOf(field, found), isFree);
    if (hasColumn(schema)) columns.add(columnName(field));
    properties.set(field, schema);
  }
  const [id, legacy] = [isExport ? undefined : fields.get(idField ?? ''), fields.get(LEGACY_ID)];
  const old = legacy ?? id;
  // Of records with both, some may have the id alone.
  if (old)
    properties.set(
      LEGACY_ID,
      legacy && id ? { readOnly: true } : legacyId(old, typesOf(legacy ? LEGACY_ID : idField!, old)),
    );
  const names = [...properties.keys()];
  const isName = (field: string) => properties.get(field)?.['x-search'] && !properties.get(field)!.format;
  // No request could create a record that must have an old id.
  const required = names.filter((field) => field !== LEGACY_ID && fields.get(field)?.present === records);
  const referring = names.filter(
    (field) => ![undefined, name].includes(properties.get(field)!['x-references']),
  );
  // Lines of orders belong to `orderId`, other records to the first reference.
  const isParent = (field: string) => plainName(name).startsWith(plainName(stemOf(field)!));
  const nested = referring.find(isParent) ?? referring[0];
  const display = ['name', 'title', ...names].find(isName);
  const declared = { type: 'object', required, properties: Object.fromEntries(properties) } as const;
  if (base && !fault) return declared;
  // Members without a value are not written.
  return { title: newDeclaration(name).title, ...declared, 'x-collection': { nested, display } as object };
}

/** The old id, by which a second import of the record is refused, and later imports find the new id. */
function legacyId({ values, isUnique, maxBytes }: FieldStats, types: ReadonlySet<string>): DeclaredField {
  const type = typeIn(types);
  const isOne = type === 'string' || type === 'integer' || type === 'number';
  if (!isOne || maxBytes > MAX_INDEXED_BYTES) return { readOnly: true };
  return { type, readOnly: true, [values && isUnique ? 'x-unique' : 'x-index']: true };
}

function fieldOf(
  name: string,
  { elements, maxBytes, formats }: FieldStats,
  types: ReadonlySet<string>,
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
  if (stem === undefined || [...types].some((type) => !['integer', 'string'].includes(type))) return;
  const target = targets.get(pluralsOf(stem).find((each) => targets.has(each)) ?? '');
  const isMet = !target?.ids || (values && [...values].every((value) => target.ids!.has(value)));
  return isMet ? target?.name : undefined;
}
