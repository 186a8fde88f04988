import type { Resource } from '../../collection/resource.js';
import { isNameAvailable } from '../../declarations/check-declarations.js';
import type { DeclaredSchema } from '../../declarations/declaration.js';
import { isObject, type Json } from '../../json.js';
import { BuiltInCheck } from './built-in-check.js';
import { type Cell, isExactNumber } from './csv-cell.js';
import { CollectionStats } from './field-stats.js';
import { FileError } from './input.js';
import { propose, type Target } from './propose.js';
import { recordsOf } from './source-records.js';
import type { Source } from './sources.js';

/** The declaration for a source. */
export interface Proposal {
  readonly source: Source;
  /** The name in the file, if the collection has another one, and why. */
  readonly renamed: { readonly from: string; readonly reason: string } | undefined;
  /** The content of its new declaration; undefined: it is declared already. */
  readonly schema: DeclaredSchema | undefined;
}

/** Which collections there are. */
export interface Declared {
  /** The collections that are declared in the folder, which stay as they are. */
  readonly own: ReadonlySet<string>;
  /** The collections that come with the service: a declaration adds to them. */
  readonly builtIn: ReadonlyMap<string, Resource>;
  /** The first segments of the service's own paths. */
  readonly ownPaths: ReadonlySet<string>;
}

/**
 * Reads all records of the sources, whose fields have new names by `rename`, and proposes declarations for them.
 * `onProgress` is called with each collection, and `onOther` with each that is left out, since none of its values is an
 * object. Throws FileError if it is the only one.
 */
export async function infer(
  all: readonly Source[],
  declared: Declared,
  rename: ReadonlyMap<string, string>,
  onProgress: (collection: string) => void,
  onOther: (collection: string) => void,
): Promise<Proposal[]> {
  const { own, builtIn } = declared;
  const sources: Source[] = [];
  const stats: CollectionStats[] = [];
  const checks: (BuiltInCheck | undefined)[] = [];
  for (const source of all) {
    onProgress(source.collection);
    const base = own.has(source.collection) ? undefined : builtIn.get(snakeOf(source.collection));
    const check = base && new BuiltInCheck(base);
    const found = await statsOf(source, rename, check);
    if (found === undefined) {
      if (all.length === 1) throw new FileError(`${source.input.name} has no object in its array of records`);
      onOther(source.collection);
      continue;
    }
    sources.push(source);
    stats.push(found);
    checks.push(check);
  }
  const names = namesFor(sources, stats, checks, declared);
  const known = new Map([...own].map((name): [string, Target] => [name, { name, ids: undefined }]));
  for (const [at, { collection }] of sources.entries()) {
    const { idField, fields } = stats[at]!;
    // Records without ids cannot be referred to, and of too many it is not known to which.
    const ids = idField === undefined ? undefined : fields.get(idField)?.values;
    if (ids) known.set(collection, { name: names[at]!.name, ids });
  }
  return sources.map((source, at) => {
    const { name, reason } = names[at]!;
    const schema = own.has(name) ? undefined : propose(name, stats[at]!, known);
    const base = builtIn.get(name);
    return {
      source: { ...source, collection: name },
      renamed: name === source.collection ? undefined : { from: source.collection, reason },
      schema: schema && base ? addition(schema, base) : schema,
    };
  });
}

/** Undefined: there are values, and none is an object. */
async function statsOf(
  source: Source,
  rename: ReadonlyMap<string, string>,
  check: BuiltInCheck | undefined,
): Promise<CollectionStats | undefined> {
  const stats = new CollectionStats(
    source.collection,
    source.header !== undefined && !source.header.isExport,
  );
  let hasValues = false;
  for await (const record of recordsOf(source, rename, inferredCell)) {
    hasValues = true;
    if (!isObject(record)) continue;
    stats.add(record);
    check?.add(record);
  }
  return hasValues && stats.records === 0 ? undefined : stats;
}

/** Max characters of a cell that is inferred as a number. */
const MAX_NUMBER = 30;

/** The value of a cell if no field is declared: a number or a boolean where it is one. */
function inferredCell({ text }: Cell): Json | undefined {
  if (text === '') return undefined;
  if (text.length <= MAX_NUMBER && isExactNumber(text)) return Number(text);
  return /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : text;
}

/** The names of the collections. One that comes with the service needs records that it accepts. */
function namesFor(
  sources: readonly Source[],
  stats: readonly CollectionStats[],
  checks: readonly (BuiltInCheck | undefined)[],
  declared: Declared,
): { name: string; reason: string }[] {
  const found = sources.map(({ collection }, at) => nameFor(collection, checks[at]?.fault, declared));
  for (const [at, check] of checks.entries()) {
    if (!check || check.fault !== undefined) continue;
    // The records of the source refer to records of others that come with the service.
    const unmet = check.references.find(({ field, to }) => {
      const target = sources.findIndex((_, other) => found[other]!.name === to);
      const ids = target < 0 ? undefined : stats[target]!.fields.get(stats[target]!.idField ?? '')?.values;
      const values = stats[at]!.fields.get(field)?.values;
      return stats[at]!.fields.has(field) && !(ids && values && [...values].every((value) => ids.has(value)));
    });
    if (unmet)
      found[at] = nameFor(sources[at]!.collection, `${unmet.field} must refer to ${unmet.to}`, declared);
  }
  // A name that stays is not free for another collection, also if it comes later.
  const isOwn = (name: string, at: number) => declared.own.has(name) || name === sources[at]!.collection;
  const used = new Set(found.map(({ name }) => name).filter(isOwn));
  return found.map(({ name, reason }, at) => {
    const free = isOwn(name, at) ? name : freeName(name, used);
    used.add(free);
    return free === name ? { name, reason } : { name: free, reason: `another collection is named ${name}` };
  });
}

function freeName(name: string, used: ReadonlySet<string>): string {
  if (!used.has(name)) return name;
  for (let number = 2; ; number++) {
    const other = `${name.slice(0, 36)}_${number}`;
    if (!used.has(other)) return other;
  }
}

const snakeOf = (given: string): string =>
  given
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_NAME) || 'records';

const MAX_NAME = 40;
const legacy = (name: string) => `legacy_${name}`.slice(0, MAX_NAME);

/** A name that a collection can have; `fault`: why the one that comes with the service refuses the records. */
function nameFor(
  given: string,
  fault: string | undefined,
  { own, ownPaths }: Declared,
): { name: string; reason: string } {
  if (own.has(given)) return { name: given, reason: '' };
  const snake = snakeOf(given);
  if (fault !== undefined) return { name: legacy(snake), reason: fault };
  return isNameAvailable(snake, ownPaths)
    ? { name: snake, reason: `names of collections have up to ${MAX_NAME} of the characters a-z, 0-9 and _` }
    : { name: legacy(snake), reason: `${given} is a reserved name` };
}

/** The part that a declaration adds to the one that comes with the service. */
function addition(schema: DeclaredSchema, { schema: base }: Resource): DeclaredSchema {
  const isNew = (name: string) => !Object.hasOwn(base.properties, name);
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isNew(name)));
  return { type: 'object', required: schema.required?.filter(isNew) ?? [], properties };
}
