import { comparable } from '../collection/resource.js';
import type { Parameter } from './comparison-sql.js';
import { sourceSql } from './condition-sql.js';
import { isBackward, type KeyColumn, type Keyset, type Position } from './keyset.js';
import type { Direction } from './read-sort.js';

/** The records of a list on one side of a position. */
interface Scan {
  readonly keyset: Keyset;
  /** The source of the records, and whether it has conditions. */
  readonly records: string;
  readonly isRestricted: boolean;
  readonly position: Position | undefined;
  /** SQL of the most records that each alternative reads. */
  readonly limit: string;
}

/**
 * Whether no index has an order: one has records without a value at the wrong end, or another collection has it. Otherwise an index
 * has the order, or the database sorts what it has found.
 */
export const isInParts = ({ keys }: Keyset): boolean =>
  keys.some((key, at) => key.related !== undefined || (at === 0 && isApart(key)));

/** Whether records without a value of the first key are looked up apart. */
const isApart = ({ column, related }: KeyColumn): boolean => related !== undefined || !column.hasWholeOrder;

/** The records of a list as `record`, with the related records by which it is ordered as `sort_0` and so on. */
export function joinedSql(records: string, { keys }: Keyset): string {
  const joins = keys.map(
    ({ related }, at) =>
      related &&
      ` left join ${sourceSql(related.other, `sort_${at}`)} on sort_${at}.id = record.${related.own.name}`,
  );
  return joins.some((join) => join !== undefined)
    ? `(select record.* from ${records}) as record${joins.join('')}`
    : records;
}

/** A column of the order within `joinedSql`. `source` ends with a dot. */
const keySql = ({ column, related }: KeyColumn, at: number, source = 'record.'): string =>
  comparable(column, related ? `sort_${at}.` : source);

/**
 * The first records on one side of a position, the nearest first, with `id`, `doc` and the columns of the order, `key_0` and so on;
 * those of each alternative are sorted, then all of them. An index serves a comparison of one column, or of the last one with the
 * id, but no alternatives. So each alternative is a query of its own.
 */
export function rowsSql(scan: Scan, parameter: Parameter): string {
  const { keyset, records, isRestricted, position, limit } = scan;
  const joined = joinedSql(records, keyset);
  const word = joined === records && isRestricted ? 'and' : 'where';
  const columns = keyset.keys.map((key, at) => `, ${keySql(key, at)} as key_${at}`).join('');
  const queries = alternatives(keyset, position, parameter).map((each) => {
    const walk = isRestricted ? undefined : walkSql(each, scan);
    const terms = walk === undefined ? [...each.terms, ...each.id] : each.terms;
    const where = terms.length === 0 ? '' : ` ${walk === undefined ? word : 'where'} ${terms.join(' and ')}`;
    return `(select record.id, record.doc${columns} from ${walk ?? joined}${where} order by ${innerOrder(scan, each)} limit ${limit})`;
  });
  const order = outerOrder(keyset, '', isBackward(position));
  return `select * from (${queries.join('\nunion all ')}) as record order by ${order}`;
}

/**
 * Related records, and of those that refer to each of them only as many as can be among the first. With conditions, the planner
 * decides whether to read the related records first, or the records for which the conditions hold.
 */
function walkSql(
  { part, id }: Alternative,
  { keyset: { keys, direction }, records, position, limit }: Scan,
): string | undefined {
  const [first, second] = keys;
  if (!first?.related || second || part === 'unrelated') return undefined;
  const { other, own } = first.related;
  const terms = [`record.${own.name} = sort_0.id`, ...id].join(' and ');
  const nearest = `select record.* from ${records} where ${terms} order by record.id ${turned(direction, isBackward(position))} limit ${limit}`;
  return `${sourceSql(other, 'sort_0')}, lateral (${nearest}) as record`;
}

/** Records on one side of a position, which conditions find that are combined by "and". */
interface Alternative {
  readonly terms: readonly string[];
  /** A comparison of the id, or none. */
  readonly id: readonly string[];
  /** Which records it has, if the first key is apart: those with a value, without one, or without a related record. */
  readonly part: 'whole' | 'valued' | 'unvalued' | 'unrelated';
}

function alternatives(
  { keys, direction }: Keyset,
  position: Position | undefined,
  parameter: Parameter,
): Alternative[] {
  const [first] = keys;
  const isSplit = first !== undefined && isApart(first);
  let same: Alternative[] = [{ terms: [], id: [], part: isSplit ? 'valued' : 'whole' }];
  const narrowed = (term: string) => same.map((each) => ({ ...each, terms: [...each.terms, term] }));
  if (!position)
    return isSplit ? [...narrowed(`${keySql(first, 0)} is not null`), ...withoutValue(first)] : same;
  const isPreceding = isBackward(position);
  const equal = position.isInclusive ? '=' : '';
  const id = parameter(position.id, 'uuid');
  const found: Alternative[] = [];
  for (const [at, key] of keys.entries()) {
    const { column, direction: order, isNullable, related } = key;
    const name = keySql(key, at);
    const value = position.values[at] ?? null;
    const absent = isSplit && at === 0 ? withoutValue(key) : narrowed(`${name} is null`);
    if (value === null) {
      if (isPreceding) found.push(...narrowed(`${name} is not null`));
      same = absent;
      continue;
    }
    const given = parameter(value, column.type === 'boolean' ? 'text::boolean' : column.type);
    if (isNullable && !isPreceding) found.push(...absent);
    if (at === keys.length - 1 && order === direction && !related)
      return [
        ...found,
        ...narrowed(`(${name}, record.id) ${signOf(order, isPreceding)}${equal} (${given}, ${id})`),
      ];
    found.push(...narrowed(`${name} ${signOf(order, isPreceding)} ${given}`));
    same = narrowed(`${name} = ${given}`);
  }
  const ofId = `record.id ${signOf(direction, isPreceding)}${equal} ${id}`;
  return [...found, ...same.map((each) => ({ ...each, id: [ofId] }))];
}

/** The records without a value of the first key. References are enforced: one leads to a record. */
function withoutValue(key: KeyColumn): Alternative[] {
  const { column, related } = key;
  const isMissing = `${keySql(key, 0)} is null`;
  if (!related) return column.isNullable ? [{ terms: [isMissing], id: [], part: 'unvalued' }] : [];
  const unrelated: Alternative = { terms: [`record.${related.own.name} is null`], id: [], part: 'unrelated' };
  const unvalued: Alternative = { terms: ['sort_0.id is not null', isMissing], id: [], part: 'unvalued' };
  return [...(related.own.isNullable ? [unrelated] : []), ...(column.isNullable ? [unvalued] : [])];
}

const turned = (direction: Direction, isTurned: boolean): Direction =>
  (direction === 'asc') === isTurned ? 'desc' : 'asc';

const signOf = (direction: Direction, isTurned: boolean) =>
  turned(direction, isTurned) === 'asc' ? '>' : '<';

const nullsOf = (isTurned: boolean) => (isTurned ? ' nulls first' : ' nulls last');

/** The order of an alternative. If the first key is apart, it is that of an index, which the planner would not find otherwise. */
function innerOrder({ keyset: { keys, direction }, position }: Scan, { part }: Alternative): string {
  const isTurned = isBackward(position);
  const next = turned(keys[1]?.direction ?? direction, isTurned);
  const terms = keys.flatMap((key, at): string[] => {
    const { column, related, isNullable } = key;
    const isFirst = at === 0 && part !== 'whole';
    if (isFirst && (part === 'unrelated' || (part === 'unvalued' && !related))) {
      const own = related?.own ?? column;
      // The index of unique values does not have the id.
      return own.type === 'uuid' || own.type === 'boolean' ? [`record.${own.name} ${next}`] : [];
    }
    const hasNulls = isFirst ? column.isNullable && column.hasWholeOrder : isNullable;
    const nulls = hasNulls ? nullsOf(isTurned) : '';
    return [`${keySql(key, at)} ${turned(key.direction, isTurned)}${nulls}`];
  });
  return [...terms, `record.id ${turned(direction, isTurned)}`].join(', ');
}

/** The order of records, whose keys `nameOf` names. `source` ends with a dot. */
const orderBy = (
  { keys, direction }: Keyset,
  source: string,
  isTurned: boolean,
  nameOf: (key: KeyColumn, at: number) => string,
): string =>
  [
    ...keys.map(
      (key, at) =>
        `${nameOf(key, at)} ${turned(key.direction, isTurned)}${key.isNullable ? nullsOf(isTurned) : ''}`,
    ),
    `${source}id ${turned(direction, isTurned)}`,
  ].join(', ');

/** The order of all records of a list within `joinedSql`. */
export const wholeOrder = (keyset: Keyset, source = 'record.'): string =>
  orderBy(keyset, source, false, (key, at) => keySql(key, at, source));

/** The order of records with the columns `key_0` and so on. */
export const outerOrder = (keyset: Keyset, source = '', isTurned = false): string =>
  orderBy(keyset, source, isTurned, (_, at) => `${source}key_${at}`);
