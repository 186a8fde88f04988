import { comparable, type Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Value } from '../db/db.js';
import { parametersIn } from './comparison-sql.js';
import type { ComparedColumn } from './condition.js';
import { recordsSql } from './condition-sql.js';
import { type Aggregate, type GroupKey, type GroupRequest, MAX_GROUPS, type Period } from './read-groups.js';

/** Reads the groups of a selection: `value_0` and so on are the keys, then the aggregates. It reads one more than the limit. */
export function groupSql(
  resource: Resource,
  { selection, keys, aggregates, sorts, limit = MAX_GROUPS }: GroupRequest,
  engine: Engine,
): { readonly text: string; readonly args: readonly Value[] } {
  const args: Value[] = [];
  const parameter = parametersIn(args);
  const records = recordsSql(resource, selection, parameter, engine);
  const values = [...keys.map(keySql), ...aggregates.map(aggregateSql)];
  const columns = values.map((value, place) => `${value} as value_${place}`);
  const grouped = keys.length === 0 ? '' : ` group by ${keys.map((_, at) => at + 1).join(', ')}`;
  const given = sorts.map(({ place, direction }) => `${place + 1} ${direction} nulls last`);
  const rest = keys.flatMap((_, place) =>
    sorts.some((sort) => sort.place === place) ? [] : [`${place + 1} nulls last`],
  );
  const order = [...given, ...rest];
  const ordered = order.length === 0 ? '' : ` order by ${order.join(', ')}`;
  const text = `select ${columns.join(', ')} from ${records}${grouped}${ordered} limit ${parameter(String(limit + 1), 'bigint')}`;
  return { text, args };
}

function keySql({ field, column, period }: GroupKey): string {
  if (period !== undefined) return periodSql(field, column, period);
  return column.type === 'uuid' ? `record.${column.name}::text` : comparable(column, 'record.');
}

/** The hour or the day at which a period begins, in UTC. */
function periodSql(field: string, { name, type }: ComparedColumn, period: Period): string {
  // The time of creation is in the id.
  const time = field === 'created_at' ? `to_timestamp(moment_of(record.${name}) / 1000.0)` : `record.${name}`;
  if (type === 'timestamptz') return beginning(`${time} at time zone 'UTC'`, period);
  // PostgreSQL has no year 0, which fails here.
  if (period === 'week') return beginning(`left(record.${name}, 10)::timestamp`, period);
  const [characters, rest] = PREFIXES[period];
  return `left(record.${name}, ${characters}) || '${rest}'`;
}

/** The characters of a time that its period has, and the rest of the time at which the period begins. */
const PREFIXES = {
  hour: [13, ':00:00.000Z'],
  day: [10, ''],
  month: [7, '-01'],
  year: [4, '-01-01'],
} as const satisfies Record<Exclude<Period, 'week'>, readonly [number, string]>;

const beginning = (time: string, period: Period) =>
  `to_char(date_trunc('${period}', ${time}), 'YYYY-MM-DD${period === 'hour' ? '"T"HH24:00:00.000"Z"' : ''}')`;

function aggregateSql({ of }: Aggregate): string {
  if (!of) return 'count(*)::double precision';
  const { apply, field, column } = of;
  if (field === 'created_at')
    return instantText(`to_timestamp(${apply}(moment_of(record.${column.name})) / 1000.0)`);
  const value = `${apply}(${comparable(column, 'record.')})`;
  return column.type === 'timestamptz' ? instantText(value) : value;
}

const instantText = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
