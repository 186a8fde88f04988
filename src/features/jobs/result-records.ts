import { readAccess } from '../../access/bound-conditions.js';
import { type Fields, fieldsOf } from '../../access/fields.js';
import type { Guarded } from '../../access/guarded-collection.js';
import type { Principal } from '../../auth/principal.js';
import type { Run } from '../../db/db.js';
import type { Lines, Rows } from '../../http/reply.js';
import type { JsonObject } from '../../json.js';
import { OWN_COLUMNS } from '../../list/condition.js';
import { LeaseLost, SQL } from './job-store.js';

/** Records that one row names, and one statement checks. */
const RECORDS_AT_ONCE = 5000;

/** Whether a caller may read each record of a collection whole, whatever it is. */
const readsAll = ({ ruled, resource }: Guarded, principal: Principal): boolean =>
  readAccess(ruled?.rules, resource, principal) === undefined;

/**
 * A list that stores which records and fields it has while it is written, and the number of rows that name them, which is known in the
 * end; undefined: its principal reads everything.
 */
export function notedList(
  list: Rows,
  guarded: Guarded,
  principal: Principal,
  store: (place: number, fields: string | null, ids: readonly string[]) => Promise<void>,
): { readonly list: Rows; readonly end: () => Promise<number | undefined> } {
  if (readsAll(guarded, principal)) return { list, end: async () => undefined };
  const noted = new NotedRecords(
    guarded.ruled!.rules.grants.some(({ fields }) => fields),
    store,
  );
  const given: Lines = list.lines ?? { header: '' };
  const { header, lineOf = (document: string) => `${document}\n` } = given;
  const lines = {
    header,
    lineOf: async (document: string) => {
      await noted.add(document);
      return lineOf(document);
    },
  };
  return { list: { ...list, lines }, end: () => noted.end() };
}

/** Records by the fields that they have, in rows of a limited number of ids. */
class NotedRecords {
  readonly #groups = new Map<string, string[]>();
  #count = 0;
  #rows = 0;

  constructor(
    /** Whether a grant shows some fields alone. */
    readonly hasParts: boolean,
    readonly store: Parameters<typeof notedList>[3],
  ) {}

  async add(document: string): Promise<void> {
    const { id, ...record } = JSON.parse(document) as JsonObject;
    const names = Object.keys(record).filter((name) => !OWN_COLUMNS.has(name));
    const key = this.hasParts ? JSON.stringify(names.sort()) : '';
    const group = this.#groups.get(key) ?? [];
    this.#groups.set(key, group);
    group.push(String(id));
    if (++this.#count === RECORDS_AT_ONCE) await this.#flush();
  }

  async end(): Promise<number> {
    await this.#flush();
    return this.#rows;
  }

  async #flush(): Promise<void> {
    for (const [key, ids] of this.#groups) await this.store(this.#rows++, key === '' ? null : key, ids);
    this.#groups.clear();
    this.#count = 0;
  }
}

/** Stores some records of a result. Throws LeaseLost. */
export async function addRecords(
  run: Run,
  { id, lease }: { readonly id: string; readonly lease: string },
  place: number,
  fields: string | null,
  ids: readonly string[],
): Promise<void> {
  const added = await run(SQL.add_records, [id, lease, place, fields, JSON.stringify(ids)]);
  if (added.length === 0) throw new LeaseLost();
}

/**
 * Whether a caller may read all records and fields of a result now; a record that was deleted meanwhile is none of them. `rows`: the
 * number of rows that name them; undefined: none does.
 */
export async function mayReadResult(
  run: Run,
  guarded: Guarded,
  principal: Principal,
  job: string,
  rows: number | undefined,
): Promise<boolean> {
  const { ruled } = guarded;
  if (!ruled || readsAll(guarded, principal)) return true;
  if (rows === undefined) return false;
  for (let place = 0; place < rows; place++) {
    const [row] = await run(SQL.records, [job, place]);
    if (!row) return false;
    const fields = row.fields === null ? undefined : (JSON.parse(String(row.fields)) as string[]);
    const masks = await ruled.reads.heldFor(String(row.ids), principal, run);
    const held = masks.map((mask) => ruled.rules.grants.filter((each) => (mask & (1 << each.place)) !== 0));
    if (!held.every((grants) => grants.length > 0 && shows(fieldsOf(grants), fields))) return false;
  }
  return true;
}

const shows = (readable: Fields, fields: readonly string[] | undefined): boolean =>
  !readable || (fields?.every((field) => readable.has(field)) ?? false);
