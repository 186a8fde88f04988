import type { Collection } from '../collection/collection.js';
import type { Resource } from '../collection/resource.js';
import { problemOf } from '../db/sqlstate.js';
import { invalidBody } from '../errors.js';
import { MAX_DEPTH, requireJsonBounds } from '../http/json-bounds.js';
import { requireStorable } from '../http/strict-json.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from '../json.js';
import { payloadTooLarge } from '../limit-errors.js';
import { type Failure, Problem } from '../problem.js';

export interface ImportOptions {
  /** Stop at the first record that is refused. */
  readonly strict: boolean;
  /** Old name -> new name of top-level fields, for every record. */
  readonly rename: ReadonlyMap<string, string>;
  /** Max bytes of a record. */
  readonly recordLimit: number;
  /** Called for each refused record with its place in the file. */
  readonly onRefused: (place: string, reason: string) => void;
  /** Called after each record. */
  readonly onProgress: (collection: string, done: number, of: number) => void;
}

export interface Imported {
  readonly collection: string;
  readonly stored: number;
  readonly refused: number;
}

export interface Load {
  readonly imported: readonly Imported[];
  /** The error that ended the load early and that no record caused. Writes in flight have ended. */
  readonly fault: unknown;
}

/** Max writes in flight. */
const MAX_WRITES = 16;

/**
 * Stores the records of each named collection with the checks of HTTP requests, parents first. Ids are new; references to
 * parents in the file are replaced with the new ids. The load goes on after a refused record, unless `strict`.
 */
export async function importRecords(
  collections: readonly Collection[],
  records: ReadonlyMap<string, readonly Json[]>,
  options: ImportOptions,
): Promise<Load> {
  const imported: Imported[] = [];
  const ids = new Map<string, ReadonlyMap<string, string>>();
  for (const collection of parentsFirst(collections)) {
    const { name, parent } = collection.resource;
    const list = records.get(name);
    if (!list) continue;
    const tally = await importList(collection, list, ids.get(parent?.resource.name ?? ''), options);
    ids.set(name, tally.newIds);
    imported.push({ collection: name, stored: tally.stored, refused: tally.refused });
    if (tally.fault !== undefined) return { imported, fault: tally.fault };
    if (options.strict && tally.refused > 0) break;
  }
  return { imported, fault: undefined };
}

function parentsFirst(collections: readonly Collection[]): Collection[] {
  return collections.toSorted((a, b) => depthOf(a.resource) - depthOf(b.resource));
}

function depthOf({ parent }: Resource): number {
  return parent ? 1 + depthOf(parent.resource) : 0;
}

interface Tally {
  readonly newIds: Map<string, string>;
  stored: number;
  refused: number;
  fault: unknown;
}

async function importList(
  collection: Collection,
  list: readonly Json[],
  parents: ReadonlyMap<string, string> | undefined,
  options: ImportOptions,
): Promise<Tally> {
  const { name } = collection.resource;
  const { strict, onRefused, onProgress } = options;
  const tally: Tally = { newIds: new Map(), stored: 0, refused: 0, fault: undefined };
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < list.length && tally.fault === undefined && !(strict && tally.refused > 0)) {
      const at = next++;
      try {
        const { oldId, id } = await importOne(collection, list[at]!, parents, options);
        if (oldId !== undefined) tally.newIds.set(oldId, id);
        tally.stored++;
      } catch (error) {
        recordError(error, tally, (path, reason) => onRefused(`${name}[${at}]${path}`, reason));
      }
      onProgress(name, tally.stored + tally.refused, list.length);
    }
  };
  // An id is made when its write begins, so that lists have the file's order. With `strict`, no write may overtake.
  await Promise.all(Array.from({ length: strict ? 1 : MAX_WRITES }, worker));
  return tally;
}

/** An error that the record caused refuses it; any other ends the load. */
function recordError(error: unknown, tally: Tally, onReason: (path: string, reason: string) => void): void {
  const problem = error instanceof Problem ? error : problemOf(error);
  if (!problem || problem.status >= 500) {
    tally.fault ??= problem ?? error;
    return;
  }
  tally.refused++;
  for (const [path, reason] of reasonsOf(problem)) onReason(path, reason);
}

async function importOne(
  collection: Collection,
  record: Json,
  parents: ReadonlyMap<string, string> | undefined,
  { rename, recordLimit }: ImportOptions,
): Promise<{ oldId: string | undefined; id: string }> {
  requireExact(record, '', 1);
  requireStorable(record);
  const text = Buffer.from(JSON.stringify(record));
  if (text.length > recordLimit) throw payloadTooLarge(recordLimit);
  requireJsonBounds(text);
  const renamed = isObject(record) ? withNames(record, rename) : record;
  const parent = collection.resource.parent?.field;
  if (isObject(renamed) && parent !== undefined) {
    const followed = parents?.get(JSON.stringify(member(renamed, parent)));
    if (followed !== undefined) setMember(renamed, parent, followed);
  }
  const created = await collection.create(collection.check(renamed, 'import'));
  const oldId = isObject(renamed) ? member(renamed, 'id') : undefined;
  return { oldId: oldId === undefined ? undefined : JSON.stringify(oldId), id: created.id };
}

/** Refuses a number that does not fit a double, which readRecords has marked. */
function requireExact(value: Json, path: string, depth: number): void {
  if (typeof value === 'string' && value.startsWith('\u0000') && /^-?\d/.test(value.slice(1))) {
    throw invalidBody(`a number that does not fit a double: ${value.slice(1, 41)}`, 'number', path);
  }
  // requireJsonBounds refuses deeper values.
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
  for (const [key, member] of Object.entries(value))
    requireExact(member, `${path}/${escapeToken(key)}`, depth + 1);
}

function withNames(record: JsonObject, rename: ReadonlyMap<string, string>): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(record)) {
    const name = rename.get(key) ?? key;
    // One of the two values would be lost.
    if (Object.hasOwn(result, name))
      throw invalidBody('two fields have this name after --rename', 'rename', `/${escapeToken(name)}`);
    setMember(result, name, record[key]!);
  }
  return result;
}

/** Each reason with the path to the field. */
function reasonsOf({ code, message, more }: Problem): [path: string, reason: string][] {
  if (code === 'VALIDATION_ERROR') {
    return (more.details as readonly Failure[]).map(({ path, message }) => [path, message]);
  }
  const { path, field } = (more.details ?? {}) as { path?: string; field?: string };
  return [[path ?? (field === undefined ? '' : `/${escapeToken(field)}`), `${code}: ${message}`]];
}
