import { storedValue } from '../collection/column.js';
import { hasField, type Resource } from '../collection/resource.js';
import { databaseErrorOf, STATEMENT_TIMEOUT } from '../db/database-errors.js';
import type { Db } from '../db/db.js';
import { queryTimeout } from '../errors/input-errors.js';
import { type Json, type JsonObject, member } from '../json.js';
import { parametersIn } from '../list/comparison-sql.js';
import type { Condition, SymbolValues } from '../list/condition.js';
import { recordsSql } from '../list/condition-sql.js';
import { sharing } from '../telemetry/instruments.js';
import { parseUuid } from '../uuid.js';
import type { Event } from './event.js';

/** Whether conditions hold for the record of an event before and after the change. Without a record, they do not. */
export interface Fulfilled {
  /** Undefined: it is unknown, since the event was written before events had the columns of the former record. */
  readonly before: boolean | undefined;
  readonly after: boolean;
}

/** The columns of a record by their names, before and after a change; null: there was no record. Undefined: they are unknown. */
export interface States {
  readonly before: JsonObject | null | undefined;
  readonly after: JsonObject | null;
}

/** The source of the states in statements, and the column with the number of a state. Fields have no such columns. */
const SOURCE = 'plinth_states';
const NUMBER = 'plinth_number';

interface Matching {
  readonly needsRelated?: boolean;
  /** The values for the symbols of the conditions. */
  readonly symbolValues?: SymbolValues;
}

/**
 * Whether conditions hold for states of records, all of one collection: a row for each of `lists`, whose conditions must
 * all hold. One statement compares the columns as the states have them, and conditions on related records with their present
 * state. With `needsRelated`, it is unknown whether a condition held that no related record fulfils another one, if records of that
 * relation have been deleted, and it does not hold. Only over relations may the statement take long, and then it waits with the
 * queries of lists. Throws 503.
 */
export async function matchStates(
  { query, composed, engine, metrics }: Db,
  resource: Resource,
  given: readonly States[],
  lists: readonly (readonly Condition[])[],
  { needsRelated = false, symbolValues = [] }: Matching = {},
): Promise<Fulfilled[][]> {
  const types = comparedTypes(resource, lists.flat());
  const numbers = new Map<string, number>();
  const numberOf = (state: JsonObject): number => {
    const compared = JSON.stringify(Object.fromEntries([...types.keys()].map((name) => [name, state[name]])));
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
  const columns = [...types].map(([name, type]) => `, ${name} ${type}`).join('');
  const parameter = parametersIn(args);
  const matches = lists.map((conditions, list) => {
    const selection = { conditions, symbolValues, search: [] };
    const records = recordsSql(resource, selection, parameter, engine, SOURCE, needsRelated);
    return `select ${list} as list, record.${NUMBER} as number from ${records}`;
  });
  const text = `with ${SOURCE} as materialized (
    select * from json_to_recordset($1::text::json) as state (${NUMBER} integer${columns})
  ) ${matches.join(' union all ')}`;
  if (rows.length === 0) return lists.map(() => given.map(() => ({ before: false, after: false })));
  const match = lists.flat().some(isOfRelation)
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

const isOfRelation = (condition: Condition): boolean =>
  condition.kind === 'relation' ||
  (condition.kind !== 'comparison' && condition.conditions.some(isOfRelation));

/** The names and types of the columns that conditions on a collection compare. */
function comparedTypes(resource: Resource, conditions: readonly Condition[]): ReadonlyMap<string, string> {
  const types = new Map<string, string>([['id', 'uuid']]);
  const add = ({ name, type }: { name: string; type: string }) => types.has(name) || types.set(name, type);
  const visit = (condition: Condition): void => {
    switch (condition.kind) {
      case 'comparison':
        add(condition.column);
        if (condition.operator === 'contains')
          for (const field of resource.searchable) add(resource.columns.get(field)!);
        break;
      case 'relation':
        if (condition.own) add(condition.own);
        break;
      default:
        condition.conditions.forEach(visit);
    }
  };
  conditions.forEach(visit);
  return types;
}

/** Streams with other conditions read the states of an event as well. */
const known = new WeakMap<Event, States>();

/** The states of a record around the change of an event. */
export function statesOf(resource: Resource, event: Event): States {
  const present = known.get(event) ?? readStates(resource, event);
  known.set(event, present);
  return present;
}

function readStates(resource: Resource, event: Event): States {
  const { type, version, data, former } = event;
  const columnsOf = (memberOf: MemberOf) => comparedColumns(resource, event, memberOf);
  const document = data === null ? undefined : (JSON.parse(data) as JsonObject);
  const after = document && {
    ...columnsOf((field) => member(document, field)),
    version,
    updated_at: instantIn(document),
  };
  if (type.endsWith('.created')) return { before: null, after: after ?? null };
  const columns = former === null ? undefined : (JSON.parse(former) as JsonObject);
  const before = columns && {
    ...columnsOf((_, name) => member(columns, name)),
    version: Number(columns.version),
    updated_at: instantIn(columns),
  };
  return { before, after: after ?? null };
}

type MemberOf = (field: string, name: string) => JsonObject[string] | undefined;

/** The values of columns as the present declaration has them: a value of another type or field, from before a change of it, is none. */
function comparedColumns(resource: Resource, { seq, record }: Event, memberOf: MemberOf): JsonObject {
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
