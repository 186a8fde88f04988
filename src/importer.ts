import type { Collection } from './collection.js';
import { problemOf } from './db/sqlstate.js';
import { type Failure, invalidBody, Problem } from './errors.js';
import { requireStorable } from './http/json.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from './json.js';

/** What to load and how. */
export interface ImportOptions {
  /** Stop at the first record that is refused. */
  readonly strict: boolean;
  /** Old name -> new name of top-level fields, for every record. */
  readonly rename: ReadonlyMap<string, string>;
  /** Told for each record that is refused: its place in the file, and why. */
  readonly onRefused: (place: string, reason: string) => void;
  /** Told after each record. */
  readonly onProgress: (collection: string, done: number, of: number) => void;
}

/** How many records of one collection went in. */
export interface Imported {
  readonly collection: string;
  readonly stored: number;
  readonly refused: number;
}

/** Writes in flight at once. */
const AT_ONCE = 16;

/**
 * Stores the records of each named collection through the checks that HTTP requests go through, parents
 * first. Ids are new; a reference to a parent that is in the file follows it to its new id. A record that is
 * refused stops nothing else, unless `strict`.
 */
export async function importRecords(
  collections: readonly Collection[],
  records: ReadonlyMap<string, readonly Json[]>,
  options: ImportOptions,
): Promise<Imported[]> {
  const results: Imported[] = [];
  const ids = new Map<string, ReadonlyMap<string, string>>();
  for (const collection of parentsFirst(collections)) {
    const { name, parent } = collection.resource;
    const list = records.get(name);
    if (!list) continue;
    const { result, newIds } = await importList(collection, list, ids.get(parent?.collection ?? ''), options);
    ids.set(name, newIds);
    results.push(result);
    if (options.strict && result.refused > 0) break;
  }
  return results;
}

function parentsFirst(collections: readonly Collection[]): Collection[] {
  return collections.toSorted(
    (a, b) => Number(a.resource.parent !== undefined) - Number(b.resource.parent !== undefined),
  );
}

async function importList(
  collection: Collection,
  list: readonly Json[],
  parents: ReadonlyMap<string, string> | undefined,
  options: ImportOptions,
): Promise<{ result: Imported; newIds: ReadonlyMap<string, string> }> {
  const { name } = collection.resource;
  const newIds = new Map<string, string>();
  let next = 0;
  let stored = 0;
  let refused = 0;
  const worker = async (): Promise<void> => {
    while (next < list.length && !(options.strict && refused > 0)) {
      const at = next++;
      try {
        const { oldId, id } = await importOne(collection, list[at]!, parents, options.rename);
        if (oldId !== undefined) newIds.set(oldId, id);
        stored++;
      } catch (error) {
        refused++;
        for (const [path, reason] of reasonsOf(error)) options.onRefused(`${name}[${at}]${path}`, reason);
      }
      options.onProgress(name, stored + refused, list.length);
    }
  };
  // One at a time keeps the file's order, which is the order of lists; with --strict nothing may overtake.
  await Promise.all(Array.from({ length: options.strict ? 1 : AT_ONCE }, worker));
  return { result: { collection: name, stored, refused }, newIds };
}

async function importOne(
  collection: Collection,
  record: Json,
  parents: ReadonlyMap<string, string> | undefined,
  rename: ReadonlyMap<string, string>,
): Promise<{ oldId: string | undefined; id: string }> {
  requireExact(record, '');
  requireStorable(record, '', 1);
  const renamed = isObject(record) ? withNames(record, rename) : record;
  const parent = collection.resource.parent?.field;
  if (isObject(renamed) && parent !== undefined) {
    const followed = parents?.get(JSON.stringify(member(renamed, parent)));
    if (followed !== undefined) setMember(renamed, parent, followed);
  }
  const created = await collection.create(collection.check(renamed));
  const oldId = isObject(record) ? member(record, 'id') : undefined;
  return { oldId: oldId === undefined ? undefined : JSON.stringify(oldId), id: created.id };
}

/** Tells a number that readRecords could not keep by what it is, not by the text it became. */
function requireExact(value: Json, path: string): void {
  if (typeof value === 'string' && value.startsWith('\u0000') && /^-?\d/.test(value.slice(1))) {
    throw invalidBody(`a number that does not fit a double: ${value.slice(1, 41)}`, 'number', path);
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) requireExact(member, `${path}/${escapeToken(key)}`);
}

function withNames(record: JsonObject, rename: ReadonlyMap<string, string>): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(record)) setMember(result, rename.get(key) ?? key, record[key]!);
  return result;
}

/** Each reason with the path to the field; throws what is no fault of the record. */
function reasonsOf(error: unknown): [path: string, reason: string][] {
  const problem = error instanceof Problem ? error : problemOf(error);
  if (!problem || problem.status >= 500) throw error;
  const { details } = problem.more;
  if (problem.code !== 'VALIDATION_ERROR') return [['', `${problem.code}: ${problem.message}`]];
  return (details as readonly Failure[]).map(({ path, message }) => [path, message]);
}
