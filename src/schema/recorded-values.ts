import { IDEMPOTENCY_SQL } from '../db/core-statements.js';
import type { Run } from '../db/db.js';
import { isObject, type Json } from '../json.js';

/** Rows and bytes that are read at once. */
const MAX_ROWS = 200;
const MAX_BYTES = 8_388_608;

/** A value without fields of a collection's records; the value itself: it has none of them. */
type Without = (value: Json, fields: readonly string[], collection: string) => Json;

/** A column whose texts contain records, and the columns of the key of its table with their types. */
interface Recorded {
  readonly table: string;
  readonly column: string;
  /** The collection of a row in SQL; absent: the texts name it. */
  readonly of?: string;
  readonly key: Readonly<Record<string, string>>;
  readonly without: Without;
}

const HISTORY_KEY = { collection: 'text', record: 'uuid', seq: 'bigint' };

/** Columns that repeat records, besides documents and stored responses: of events, histories, and deliveries of webhooks. */
const RECORDED: readonly Recorded[] = [
  ...['data', 'previous'].flatMap((column) => [
    { table: 'events', column, of: "split_part(type, '.', 1)", key: { seq: 'bigint' }, without: omitted },
    { table: 'plinth_history', column, of: 'collection', key: HISTORY_KEY, without: omitted },
  ]),
  { table: 'delivery_bodies', column: 'body', key: { event_id: 'text' }, without: withoutInEnvelope },
  { table: 'deliveries', column: 'body', key: { id: 'bigint' }, without: withoutInEnvelope },
];

/**
 * Removes fields of a collection from all records that were recorded before. It may be repeated. Repeats of earlier requests get the
 * record as it is, or no body.
 */
export async function removeRecorded(run: Run, collection: string, fields: readonly string[]): Promise<void> {
  await forgetBodies(run);
  for (const recorded of RECORDED) await removeFrom(run, recorded, collection, fields);
}

async function forgetBodies(run: Run): Promise<void> {
  let [last] = await run(IDEMPOTENCY_SQL.forget_bodies, ['', '', MAX_ROWS]);
  while (last)
    [last] = await run(IDEMPOTENCY_SQL.forget_bodies, [String(last.caller), String(last.key), MAX_ROWS]);
}

async function removeFrom(
  run: Run,
  { table, column, of, key, without }: Recorded,
  collection: string,
  fields: readonly string[],
): Promise<void> {
  const names = Object.keys(key);
  const list = names.join(', ');
  const ofCollection = of === undefined ? '' : `and ${of} = '${collection}'`;
  const page = (after: string) => `
    select ${names.map((name) => `${name}::text`).join(', ')}, text
    from (
      select ${list}, ${column} as text, sum(octet_length(${column})) over (order by ${list}) - octet_length(${column}) as before
      from (
        select ${list}, ${column} from ${table}
        where ${column} is not null ${ofCollection} ${after}
        order by ${list} limit ${MAX_ROWS}
      ) as next
    ) as page
    where before < ${MAX_BYTES}
    order by ${list}`;
  const next = `and (${list}) > (${names.map((name, at) => `$${at + 1}::${key[name]}`).join(', ')})`;
  const write = `
    update ${table} set ${column} = changed.text
    from json_to_recordset($1::text::json) as changed (${names.map((name) => `${name} ${key[name]}`).join(', ')}, text text)
    where ${names.map((name) => `${table}.${name} = changed.${name}`).join(' and ')}`;
  let rows = await run(page(''), []);
  while (rows.length > 0) {
    const changed = rows.flatMap((row) => {
      const value = JSON.parse(String(row.text)) as Json;
      const rest = without(value, fields, collection);
      return rest === value ? [] : [{ ...row, text: JSON.stringify(rest) }];
    });
    if (changed.length > 0) await run(write, [JSON.stringify(changed)]);
    const last = rows.at(-1)!;
    rows = await run(
      page(next),
      names.map((name) => String(last[name])),
    );
  }
}

function omitted(value: Json, names: readonly string[]): Json {
  if (!isObject(value) || !names.some((name) => Object.hasOwn(value, name))) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

function withoutInEnvelope(envelope: Json, fields: readonly string[], collection: string): Json {
  if (!isObject(envelope) || !String(envelope.type).startsWith(`${collection}.`)) return envelope;
  const data = omitted(envelope.data ?? null, fields);
  return data === envelope.data ? envelope : { ...envelope, data };
}
