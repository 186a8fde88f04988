import type { Run } from '../db/db.js';
import { isObject, type Json, type JsonObject, member } from '../json.js';

/** Rows and bytes that are read at once. */
const MAX_ROWS = 200;
const MAX_BYTES = 8_388_608;

/** A column whose texts contain records, and the columns of the key of its table with their types. */
interface Recorded {
  readonly table: string;
  readonly column: string;
  readonly key: Readonly<Record<string, string>>;
  /** The text without fields of a collection's records; undefined: it has none of them. */
  readonly without: (value: Json, collection: string, fields: readonly string[]) => Json | undefined;
}

/** Everything besides the documents that repeats records: events, deliveries of webhooks, and stored responses. */
const RECORDED: readonly Recorded[] = [
  {
    table: 'events',
    column: 'data',
    key: { seq: 'bigint' },
    without: (data, _, fields) => omitted(data, fields),
  },
  {
    table: 'events',
    column: 'previous',
    key: { seq: 'bigint' },
    without: (data, _, fields) => omitted(data, fields),
  },
  { table: 'delivery_bodies', column: 'body', key: { event_id: 'text' }, without: withoutInEnvelope },
  { table: 'deliveries', column: 'body', key: { id: 'bigint' }, without: withoutInEnvelope },
  {
    table: 'idempotency_keys',
    column: 'body',
    key: { caller: 'text', key: 'text' },
    without: withoutInResponse,
  },
  {
    table: 'idempotency_keys',
    column: 'parts',
    key: { caller: 'text', key: 'text' },
    without: withoutInParts,
  },
];

/** Removes fields of a collection from all records that were recorded before. It may be repeated. */
export async function removeRecorded(run: Run, collection: string, fields: readonly string[]): Promise<void> {
  for (const recorded of RECORDED) await removeFrom(run, recorded, collection, fields);
}

async function removeFrom(
  run: Run,
  { table, column, key, without }: Recorded,
  collection: string,
  fields: readonly string[],
): Promise<void> {
  const names = Object.keys(key);
  const list = names.join(', ');
  const ofCollection = table === 'events' ? `and split_part(type, '.', 1) = '${collection}'` : '';
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
      const value = without(JSON.parse(String(row.text)) as Json, collection, fields);
      return value === undefined ? [] : [{ ...row, text: JSON.stringify(value) }];
    });
    if (changed.length > 0) await run(write, [JSON.stringify(changed)]);
    const last = rows.at(-1)!;
    rows = await run(
      page(next),
      names.map((name) => String(last[name])),
    );
  }
}

/** An object without members; undefined: it has none of them. */
function omitted(value: Json, names: readonly string[]): JsonObject | undefined {
  if (!isObject(value) || !names.some((name) => Object.hasOwn(value, name))) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

function withoutInEnvelope(envelope: Json, collection: string, fields: readonly string[]): Json | undefined {
  if (!isObject(envelope) || !String(envelope.type).startsWith(`${collection}.`)) return undefined;
  const data = omitted(envelope.data ?? null, fields);
  return data && { ...envelope, data };
}

/** A response names its records by their links, at any place: the current one of a 409 or 412, the results of a batch. */
function withoutInResponse(value: Json, collection: string, fields: readonly string[]): Json | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  let isChanged = false;
  const visit = (each: Json): Json => {
    const changed = withoutInResponse(each, collection, fields);
    if (changed === undefined) return each;
    isChanged = true;
    return changed;
  };
  if (Array.isArray(value)) {
    const items = value.map(visit);
    return isChanged ? items : undefined;
  }
  const own = isRecordOf(value, collection) ? omitted(value, fields) : undefined;
  const members = Object.entries(own ?? value).map(([name, each]) => [name, visit(each)] as const);
  return own || isChanged ? Object.fromEntries(members) : undefined;
}

function isRecordOf(value: JsonObject, collection: string): boolean {
  const links = member(value, '_links');
  const self = isObject(links) ? links.self : undefined;
  return isObject(self) && String(self.href).endsWith(`/${collection}/${value.id}`);
}

/** The stored response to a batch: each body in it is a text. */
function withoutInParts(parts: Json, collection: string, fields: readonly string[]): Json | undefined {
  if (!isObject(parts) || !Array.isArray(parts.results)) return undefined;
  let isChanged = false;
  const results = parts.results.map((result) => {
    if (!isObject(result) || typeof result.body !== 'string' || !/^[[{]/.test(result.body)) return result;
    const changed = withoutInResponse(JSON.parse(result.body) as Json, collection, fields);
    if (changed === undefined) return result;
    isChanged = true;
    return { ...result, body: JSON.stringify(changed) };
  });
  return isChanged ? { ...parts, results } : undefined;
}
