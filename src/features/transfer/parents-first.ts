import { InputError } from '../../cli/io.js';
import { oldIdsIn } from './follow-references.js';
import type { ImportRun } from './import-run.js';
import { spool } from './input.js';
import { withOldId } from './read-rows.js';
import { type ReadRecord, readSource, rulesOf } from './source-records.js';
import type { Source } from './sources.js';

/** Bytes of records that wait in memory for those to which they refer. */
const MAX_WAITING_BYTES = 268_435_456;

/** A record of a file with its old id, and those of records of its collection to which it refers. */
interface Linked extends Omit<ReadRecord, 'record'> {
  readonly id: string | undefined;
  readonly to: readonly string[];
}

/**
 * A source of which each record comes after those of its collection to which it refers: a copy, if the file has another order.
 * Records that refer to each other in a circle come last. Throws InputError if too much waits.
 */
export async function parentsFirst(run: ImportRun, source: Source): Promise<Source> {
  const { collection, from, input, placeText } = source;
  const { references } = run.resources.get(collection)!;
  const fields = references
    .filter(({ to, field }) => to === collection && run.lookups.get(field)?.to !== to)
    .map(({ field }) => field);
  if (fields.length === 0) return source;
  const rules = rulesOf(run, source);
  async function* linked(): AsyncGenerator<Linked> {
    for await (const { record = null, ...read } of readSource(source, rules)) {
      const to = fields.flatMap((field) => oldIdsIn(record, field));
      yield { ...read, id: withOldId(record, rules).oldId, to };
    }
  }
  const [ids, later] = [new Set<string>(), new Set<string>()];
  for await (const { id, to } of linked()) {
    if (id !== undefined) ids.add(id);
    for (const each of to) if (!ids.has(each)) later.add(each);
  }
  if (![...later].some((id) => ids.has(id))) return source;
  const places = new Map<number, number>();
  const first = Math.min(from.place, 1);
  let next = first;
  async function* copied(): AsyncGenerator<Buffer> {
    for await (const { bytes, scanned } of inOrder(linked(), ids)) {
      places.set(next, scanned.place);
      next += 1 + (scanned.row?.breaks ?? 0);
      yield Buffer.concat([bytes, Buffer.from('\n')]);
    }
  }
  const copy = await spool(input.name, copied());
  return {
    ...source,
    input: copy,
    from: { position: 0, place: first },
    placeText: (place) => placeText(places.get(place)!),
  };
}

/** Records, each after those with the ids to which it refers. An id that came is removed from `ids`. */
async function* inOrder(records: AsyncIterable<Linked>, ids: Set<string>): AsyncGenerator<Linked> {
  const waiting = new Map<string, Linked[]>();
  let waitingBytes = 0;
  function* arrived(queue: Linked[]): Generator<Linked> {
    // The loop goes on to the records that it adds.
    for (const record of queue) {
      const missing = record.to.find((id) => ids.has(id) && id !== record.id);
      if (missing === undefined) {
        yield record;
        if (record.id !== undefined) for (const each of released(record.id)) queue.push(each);
        continue;
      }
      waitingBytes += record.bytes.length;
      if (waitingBytes > MAX_WAITING_BYTES)
        throw new InputError('too many records refer to later ones of their file: sort it, parents first');
      const others = waiting.get(missing) ?? [];
      waiting.set(missing, others);
      others.push({ ...record, bytes: Buffer.from(record.bytes) });
    }
  }
  function released(id: string): Linked[] {
    const found = waiting.get(id) ?? [];
    ids.delete(id);
    waiting.delete(id);
    for (const { bytes } of found) waitingBytes -= bytes.length;
    return found;
  }
  for await (const record of records) yield* arrived([record]);
  for (const id of waiting.keys()) yield* arrived(released(id));
}
