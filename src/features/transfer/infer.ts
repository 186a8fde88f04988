import type { Resource } from '../../collection/resource.js';
import { isNameAvailable } from '../../declarations/check-declarations.js';
import type { DeclaredSchema } from '../../declarations/declaration.js';
import { isObject } from '../../json.js';
import { areIds, CollectionStats } from './collection-stats.js';
import { readInferredCell } from './csv-cell.js';
import type { ImportReport } from './import-report.js';
import { FileError } from './input.js';
import { propose } from './propose.js';
import { plainName } from './reference-names.js';
import { recordsOf } from './source-records.js';
import type { Source } from './sources.js';

/** The declaration for a source. */
export interface Proposal extends Pick<CollectionStats, 'source' | 'name'> {
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
 * A collection is left out if none of its values is an object. Throws FileError if it is the only one.
 */
export async function infer(
  sources: readonly Source[],
  declared: Declared,
  rename: ReadonlyMap<string, string>,
  report: ImportReport,
): Promise<Proposal[]> {
  const { own, builtIn } = declared;
  const all: CollectionStats[] = [];
  for (const source of sources) {
    const { collection } = source;
    report.showProgress(`reading ${collection}`);
    const base = own.has(collection) ? undefined : builtIn.get(snakeOf(collection));
    const stats = new CollectionStats(source, base);
    let hasOthers = false;
    for await (const record of recordsOf(source, rename, readInferredCell))
      if (isObject(record)) stats.add(record);
      else hasOthers = true;
    if (stats.records > 0 || !hasOthers) all.push(stats);
    else if (sources.length > 1) report.note(`${collection} has no objects: left out.`);
    else throw new FileError(`${source.input.name} has no object in its array of records`);
  }
  nameAll(all, declared);
  // Records without ids cannot be referred to, and of too many it is not known to which.
  const targets = new Map([
    ...[...own].map((name) => [plainName(name), { name }] as const),
    ...all.flatMap(({ source, name: { text: name }, ids }) =>
      ids ? [[plainName(source.collection), { name, ids }] as const] : [],
    ),
  ]);
  return all.map((stats) => {
    const { source, name } = stats;
    const schema = own.has(name.text) ? undefined : propose(stats, targets, builtIn.get(name.text));
    return { source, name, schema };
  });
}

/** Names the collections. One that comes with the service needs records that it accepts. */
function nameAll(all: readonly CollectionStats[], { own, ownPaths }: Declared): void {
  for (const stats of all) {
    const given = stats.source.collection;
    if (own.has(given)) continue;
    const text = snakeOf(given);
    stats.fault ??= faultOfReferences(stats, all);
    if (stats.fault === undefined && isNameAvailable(text, ownPaths)) stats.name = { text, reason: RULE };
    else {
      const reason = stats.fault ?? `${given} is a reserved name`;
      stats.name = { text: `legacy_${text}`.slice(0, MAX_NAME), reason };
    }
  }
  // A name that stays is not free for another collection, also if it comes later.
  const stays = ({ name: { text }, source }: CollectionStats) => own.has(text) || text === source.collection;
  const used = new Set(all.filter(stays).map(({ name }) => name.text));
  for (const stats of all.filter((each) => !stays(each))) {
    const wanted = stats.name.text;
    let text = wanted;
    for (let number = 2; used.has(text); number++) text = `${wanted.slice(0, 36)}_${number}`;
    used.add(text);
    if (text !== wanted) stats.name = { text, reason: `another collection is named ${wanted}` };
  }
}

/** Why records of a collection of the service cannot refer to those of another one. */
function faultOfReferences(
  { builtIn, fields }: CollectionStats,
  all: readonly CollectionStats[],
): string | undefined {
  const unmet = builtIn?.references.find(({ field, to }) => {
    const target = all.find(
      ({ builtIn, source, fault }) => (builtIn?.name ?? source.collection) === to && !fault,
    );
    return fields.has(field) && !areIds(fields.get(field)!.values, target?.ids);
  });
  return unmet && `${unmet.field} must refer to ${unmet.to}`;
}

const MAX_NAME = 40;
const RULE = `names of collections have up to ${MAX_NAME} of the characters a-z, 0-9 and _`;

const snakeOf = (given: string): string =>
  given
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_NAME) || 'records';
