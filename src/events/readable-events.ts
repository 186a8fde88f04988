import { storedValue } from '../collection/column.js';
import { definitionsOf, hasField, type Resource } from '../collection/resource.js';
import { databaseErrorOf, STATEMENT_TIMEOUT } from '../db/database-errors.js';
import type { Db } from '../db/db.js';
import { queryTimeout } from '../errors/input-errors.js';
import { type Json, type JsonObject, member } from '../json.js';
import { parametersIn } from '../list/comparison-sql.js';
import type { Access, Condition, SymbolValues } from '../list/condition.js';
import { recordsSql } from '../list/condition-sql.js';
import { partOf } from '../policy/column-mask.js';
import { grantFields, relationsIn } from '../policy/policy.js';
import { sharing } from '../telemetry/instruments.js';
import { parseUuid } from '../uuid.js';
import type { Event, Match } from './event.js';
import { admitsEvent, type Filter, isCompared, type Live } from './event-filter.js';

/**
 * The events that a filter admits, as far as its reader may read them, each with what the change means for the conditions of the
 * filter. Of an event whose former record is unknown, the reader may have known it: none that left is missed. Throws 503.
 */
export async function readableEvents(
  db: Db,
  filter: Filter,
  events: readonly Event[],
): Promise<readonly Event[]> {
  const admitted = events.filter((event) => admitsEvent(filter, event));
  if (!isCompared(filter) || admitted.length === 0) return admitted;
  const found = new Map<Event, Event>();
  for (const name of new Set(admitted.map(collectionOf))) {
    const group = admitted.filter((event) => collectionOf(event) === name);
    for (const [event, shown] of await readGroup(db, filter, name, group)) found.set(event, shown);
  }
  return admitted.flatMap((event) => found.get(event) ?? []);
}

const collectionOf = ({ type }: Event): string => type.slice(0, type.lastIndexOf('.'));

/**
 * The events of one collection. With access rules, a reader gets an event if it might read the record before the change, or may read
 * it after the change; and the record after the change only if it may read that.
 */
async function readGroup(
  db: Db,
  { policies, live }: Filter,
  name: string,
  events: readonly Event[],
): Promise<(readonly [event: Event, shown: Event])[]> {
  const policy = policies.get(name);
  const states = policy ? await readableStates(db, policy.resource, policy.access(), events) : undefined;
  const matches = live && (await matchesOf(db, live, events, states));
  return events.flatMap((event, at) => {
    const { before, after } = states?.[at] ?? WHOLE;
    const match = matches?.[at];
    if ((!before && !after) || (live && !match)) return [];
    const isActorShown = !policy || (policy.showsActors && (after || event.type.endsWith('.deleted')));
    const shown = shownEvent(isActorShown ? event : { ...event, actor: null }, after);
    return [[event, match ? { ...shown, match } : shown] as const];
  });
}

/** The fields of a record that a reader may read; undefined: all. */
export interface ReadableState {
  readonly fields: readonly string[] | undefined;
}

/** The parts of a record that a reader may read before and after a change; undefined: none, or it is unknown. */
export interface ReadableStates {
  readonly before: ReadableState | undefined;
  readonly after: ReadableState | undefined;
}

export const WHOLE: ReadableStates = { before: { fields: undefined }, after: { fields: undefined } };

/** The parts of records of one collection that a reader may read around changes, by the present state of other records. Throws 503. */
export async function readableStates(
  db: Db,
  resource: Resource,
  { grants, values }: Access,
  events: readonly Event[],
): Promise<ReadableStates[]> {
  const conditions = grants.map((grant) => grant.conditions);
  // A rule that hides a record because of a related one hides it after the deletion of that one as well.
  const given = events.map((event) => statesOf(resource, event));
  const held = await matchStates(db, resource, given, conditions, values);
  const stateIn = (at: number, side: 'before' | 'after'): ReadableState | undefined => {
    const holding = grants.filter((_, grant) => held[grant]![at]![side] === true);
    if (holding.length === 0) return undefined;
    const fields = grantFields(holding);
    const { seq } = events[at]!;
    return { fields: fields && [...fields].filter((each) => hasField(resource, each, seq)) };
  };
  return events.map((_, at) => ({ before: stateIn(at, 'before'), after: stateIn(at, 'after') }));
}

/** An event with the part of the record that its reader may read after the change. */
function shownEvent(event: Event, after: ReadableState | undefined): Event {
  if (event.data === null || (after && !after.fields)) return event;
  return { ...event, data: after ? partOf(event.data, new Set(after.fields)) : null };
}

/**
 * The meaning of changes for conditions, for which the fields are absent that the reader may not read in each state; `readable`
 * undefined: it may read all.
 */
async function matchesOf(
  db: Db,
  { resource, conditions }: Live,
  events: readonly Event[],
  readable: readonly ReadableStates[] | undefined,
): Promise<(Match | undefined)[]> {
  const shown = <T extends JsonObject | null | undefined>(state: T, part: ReadableState | undefined) => {
    if (!part) return null;
    const { fields } = part;
    if (!state || !fields) return state;
    const hidden = [...resource.columns].filter(([field]) => !fields.includes(field));
    return { ...state, ...Object.fromEntries(hidden.map(([, { name }]) => [name, null])) };
  };
  const states = events.map((event, at): States => {
    const { before, after } = statesOf(resource, event);
    const part = readable?.[at] ?? WHOLE;
    return { before: shown(before, part.before), after: shown(after, part.after) };
  });
  const [fulfilled] = await matchStates(db, resource, states, [conditions]);
  return fulfilled!.map(matchOf);
}

function matchOf({ before, after }: Fulfilled): Match | undefined {
  if (after) return before === false ? 'entered' : 'changed';
  return before === false ? undefined : 'left';
}

/** Whether conditions hold for the record of an event before and after the change. Without a record, they do not. */
interface Fulfilled {
  /** Undefined: it is unknown, since the event was written before events had the columns of the former record. */
  readonly before: boolean | undefined;
  readonly after: boolean;
}

/** The columns of a record by their names, before and after a change; null: there was no record. Undefined: they are unknown. */
interface States {
  readonly before: JsonObject | null | undefined;
  readonly after: JsonObject | null;
}

/** The source of the states in statements, and the column with the number of a state. Fields have no such columns. */
const SOURCE = 'plinth_states';
const NUMBER = 'plinth_number';

/**
 * Whether conditions hold for states of records, all of one collection: a row for each of `lists`, whose conditions must
 * all hold. One statement compares the columns as the states have them, and conditions on related records with their present
 * state. With `symbolValues`, the conditions are those of grants, and it is unknown whether a condition held that no related record fulfils another one, if records of that
 * relation have been deleted, and it does not hold. Only over relations may the statement take long, and then it waits with the
 * queries of lists. Throws 503.
 */
async function matchStates(
  { query, composed, engine, metrics }: Db,
  resource: Resource,
  given: readonly States[],
  lists: readonly (readonly Condition[])[],
  symbolValues?: SymbolValues,
): Promise<Fulfilled[][]> {
  const numbers = new Map<string, number>();
  const numberOf = (state: JsonObject): number => {
    const compared = JSON.stringify(state);
    const number = numbers.get(compared) ?? numbers.size;
    numbers.set(compared, number);
    return number;
  };
  const numbered = given.map(({ before, after }) => ({
    before: before && numberOf(before),
    after: after && numberOf(after),
  }));
  const rows = [...numbers].map(([compared, number]) => `{"${NUMBER}":${number},${compared.slice(1)}`);
  const args = [`[${rows.join(',')}]`];
  const columns = definitionsOf(resource).map((definition) => `, ${definition}`);
  const parameter = parametersIn(args);
  const matches = lists.map((conditions, list) => {
    const selection = { conditions, symbolValues: symbolValues ?? [], search: [] };
    const records = recordsSql(resource, selection, parameter, engine, SOURCE, symbolValues !== undefined);
    return `select ${list} as list, record.${NUMBER} as number from ${records}`;
  });
  const text = `with ${SOURCE} as materialized (
    select * from json_to_recordset($1::text::json) as state (${NUMBER} integer${columns.join('')})
  ) ${matches.join(' union all ')}`;
  if (rows.length === 0) return lists.map(() => given.map(() => ({ before: false, after: false })));
  const match =
    relationsIn(lists.flat()).length > 0
      ? query(text, args, sharing(metrics, 'match', 'events'))
      : composed(text, args);
  const found = await match.catch((error: unknown) => {
    throw databaseErrorOf(error)?.code === STATEMENT_TIMEOUT ? queryTimeout() : error;
  });
  const holding = new Set(found.map(({ list, number }) => `${list} ${number}`));
  return lists.map((_, list) => {
    const holds = (number: number | null) => number !== null && holding.has(`${list} ${number}`);
    return numbered.map(({ before, after }) => ({
      before: before === undefined ? undefined : holds(before),
      after: holds(after),
    }));
  });
}

/** The states of a record around the change of an event. */
function statesOf(resource: Resource, event: Event): States {
  const { type, version, data, former } = event;
  const document = data === null ? undefined : (JSON.parse(data) as JsonObject);
  const after = document && {
    ...comparedColumns(resource, event, (field) => member(document, field)),
    version,
    updated_at: instantIn(document),
  };
  if (type.endsWith('.created')) return { before: null, after: after ?? null };
  const columns = former === null ? undefined : (JSON.parse(former) as JsonObject);
  const before = columns && {
    ...comparedColumns(resource, event, (_, name) => member(columns, name)),
    version: Number(columns.version),
    updated_at: instantIn(columns),
  };
  return { before, after: after ?? null };
}

/** The values of columns as the present declaration has them: a value of another type or field, from before a change of it, is none. */
function comparedColumns(
  resource: Resource,
  { seq, record }: Event,
  memberOf: (field: string, name: string) => Json | undefined,
): JsonObject {
  const values: JsonObject = { id: record };
  for (const [field, column] of resource.columns) {
    if (column.type === 'jsonb' || !hasField(resource, field, seq)) continue;
    const value = (storedValue(column, memberOf(field, column.name)) ?? null) as Json;
    values[column.name] = value === null || !column.type.startsWith('uuid') ? value : canonical(value);
  }
  return values;
}

/** The ids in a value. */
const canonical = (value: Json): Json =>
  Array.isArray(value)
    ? value.flatMap((each) => parseUuid(String(each)) ?? [])
    : (parseUuid(String(value)) ?? null);

const instantIn = ({ updated_at }: JsonObject): string | null =>
  typeof updated_at === 'string' && !Number.isNaN(Date.parse(updated_at)) ? updated_at : null;
