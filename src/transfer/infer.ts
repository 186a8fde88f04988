import type { Resource } from '../collection/resource.js';
import { isNameAvailable } from '../declarations/check-declarations.js';
import type { DeclaredSchema } from '../declarations/declaration.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { chunksOf } from './chunks.js';
import { csvCells, typedCell } from './csv-record.js';
import { CollectionStats } from './field-stats.js';
import type { Source } from './import-collection.js';
import { propose } from './propose.js';
import { withNames } from './read-record.js';

/** What is declared for a source. */
export interface Proposal {
  readonly source: Source;
  /** The name in the file, if the collection has another one, and why. */
  readonly renamed: { readonly from: string; readonly reason: string } | undefined;
  /** The content of its new declaration; undefined: it is declared already. */
  readonly schema: DeclaredSchema | undefined;
}

/** Which collections there are. */
export interface Declared {
  /** Those that are declared in the folder, which stay as they are. */
  readonly own: ReadonlySet<string>;
  /** Those that come with the service: a declaration adds to them. */
  readonly builtIn: ReadonlyMap<string, Resource>;
}

/**
 * Reads all records of the sources, whose fields have new names by `rename`, and proposes declarations for them.
 * `onProgress` is called with each collection.
 */
export async function infer(
  sources: readonly Source[],
  { own, builtIn }: Declared,
  rename: ReadonlyMap<string, string>,
  onProgress: (collection: string) => void,
): Promise<Proposal[]> {
  const stats: CollectionStats[] = [];
  for (const source of sources) {
    onProgress(source.collection);
    stats.push(await statsOf(source, rename));
  }
  const names = sources.map((source, at) => nameFor(source.collection, stats[at]!, own, builtIn));
  const always = [...builtIn.values()].filter(({ owner }) => owner).map(({ name }) => name);
  const known = new Map([...own, ...always].map((name) => [name, name]));
  for (const [at, { collection }] of sources.entries()) {
    // Records without ids cannot be referred to.
    if (stats[at]!.idField !== undefined) known.set(collection, names[at]!.name);
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

async function statsOf(
  { collection, input, scanner, from, header }: Source,
  rename: ReadonlyMap<string, string>,
): Promise<CollectionStats> {
  const stats = new CollectionStats(collection);
  for await (const { bytes, starts, ends } of chunksOf(input.read(from.position), scanner, from, CHUNK_BYTES))
    for (const [at, start] of starts.entries()) {
      const text = bytes.toString('utf8', start, ends[at]);
      const record = recordOf(text, header, rename);
      if (isObject(record)) stats.add(record);
    }
  return stats;
}

const CHUNK_BYTES = 262_144;

/** What is not a record is refused when it is imported. */
function recordOf(
  text: string,
  header: readonly string[] | undefined,
  rename: ReadonlyMap<string, string>,
): Json | undefined {
  try {
    return withNames(header ? cellsOf(text, header) : (JSON.parse(text) as Json), rename);
  } catch {
    return undefined;
  }
}

function cellsOf(text: string, header: readonly string[]): JsonObject {
  const cells = csvCells(text).slice(0, header.length);
  return Object.fromEntries(
    cells.flatMap((cell, at) => (cell === '' ? [] : [[header[at]!, typedCell(cell, ['number', 'boolean'])]])),
  );
}

/** A name that a collection can have. One that comes with the service needs records that it accepts. */
function nameFor(
  given: string,
  { records, fields }: CollectionStats,
  own: ReadonlySet<string>,
  builtIn: Declared['builtIn'],
): { name: string; reason: string } {
  if (own.has(given)) return { name: given, reason: '' };
  const snake = given
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, 33);
  const missing =
    builtIn.get(snake)?.schema.required.filter((name) => (fields.get(name)?.present ?? 0) !== records) ?? [];
  if (missing.length > 0)
    return { name: `legacy_${snake}`, reason: `every record of ${snake} needs ${missing.join(' and ')}` };
  return isNameAvailable(snake)
    ? { name: snake, reason: 'names of collections have the characters a-z, 0-9 and _' }
    : { name: `legacy_${snake}`, reason: `${given} is a reserved name` };
}

/** What a declaration adds to the one that comes with the service. */
function addition(schema: DeclaredSchema, { schema: base }: Resource): DeclaredSchema {
  const isNew = (name: string) => !Object.hasOwn(base.properties, name);
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isNew(name)));
  return { type: 'object', required: schema.required?.filter(isNew) ?? [], properties };
}
