import type { Resource } from '../../src/collection/resource.js';
import { isObject, type Json, type JsonObject } from '../../src/json.js';
import { type DrawnGrant, type DrawnRules, FIELDS, NAMES, type Name, RELATIONS } from './drawn-rules.js';
import type { Caller } from './model.js';

type Resources = ReadonlyMap<string, Resource>;

const VERB = 'read';
const OPERATORS: Readonly<Record<string, string>> = {
  eq: '=',
  ne: '<>',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
};

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** A rule or a filter as SQL about a row `row`, with a truth of two values. */
export function sqlOf(resources: Resources, name: string, row: string, where: JsonObject, depth = 0): string {
  const below = (of: string, as: string, conditions: JsonObject) =>
    sqlOf(resources, of, as, conditions, depth + 1);
  const column = (of: string, field: string) =>
    field === 'id' ? 'id' : resources.get(of)!.columns.get(field)!.name;
  const terms = Object.entries(where).map(([key, given]) => {
    if (key === 'or' || key === 'and')
      return `(${(given as JsonObject[]).map((each) => below(name, row, each)).join(` ${key} `)})`;
    if (key === 'not') return `not ${below(name, row, given as JsonObject)}`;
    const relation = RELATIONS[name]![key];
    const as = `r${depth}`;
    if (!relation) return comparison(resources, name as Name, `${row}.${column(name, key)}`, key, given!);
    const from = `select from ${resources.get(relation.to)!.table} as ${as} where`;
    if (relation.field !== undefined)
      return `exists (${from} ${as}.id = ${row}.${column(name, relation.field)} and ${below(relation.to, as, given as JsonObject)})`;
    const refers = relation
      .referring!.map((field) => `${as}.${column(relation.to, field)} = ${row}.id`)
      .join(' or ');
    return Object.entries(given as JsonObject)
      .map(([quantifier, inner]) => {
        const holds = inner === true ? 'true' : below(relation.to, as, inner as JsonObject);
        if (quantifier === 'every') return `not exists (${from} (${refers}) and not ${holds})`;
        return `${quantifier === 'none' ? 'not ' : ''}exists (${from} (${refers}) and ${holds})`;
      })
      .join(' and ');
  });
  return `(${terms.join(' and ')})`;
}

function comparison(resources: Resources, name: Name, column: string, field: string, given: Json): string {
  const [[operator, operand]] = Object.entries(isObject(given) ? given : { eq: given }) as [[string, Json]];
  const rules = FIELDS[name][field] ?? {};
  const type =
    field === 'id' || rules['x-references'] !== undefined
      ? 'uuid'
      : rules.type === 'number'
        ? 'float8'
        : rules.type === 'boolean'
          ? 'boolean'
          : 'text';
  if (operator === 'null') return `(${column} is ${operand === true ? '' : 'not '}null)`;
  const value = (of: Json) => valueSql(resources, of, type, rules.format === 'date');
  const list = () =>
    Array.isArray(operand)
      ? `array[${operand.map((each) => value(each)).join(', ')}]`
      : listSql(resources, String(operand), type);
  const plain =
    type === 'text' && !Array.isArray(rules.type) && rules.type !== 'array'
      ? `${column} collate "C"`
      : column;
  const term =
    operator === 'in'
      ? `${column} = any (${list()})`
      : operator === 'nin'
        ? `${column} is not null and ${column} <> all (${list()})`
        : operator === 'has'
          ? `${value(operand)} = any (${column})`
          : operator === 'any'
            ? `${column} && ${list()}`
            : `${plain} ${OPERATORS[operator]} ${value(operand)}`;
  return `coalesce((${term}), false)`;
}

const CALLER = `rls_read(current_setting('app.caller', true), 'uuid')::uuid`;

/** A value of a rule: `rls_read` gives null for one that is not of the type. */
function valueSql(resources: Resources, given: Json, type: string, isDate: boolean): string {
  const text = String(given);
  if (text === '$now')
    return `to_char(now() at time zone 'UTC', 'YYYY-MM-DD${isDate ? '' : `"T"HH24:MI:SS.MS"Z"`}')`;
  if (text === '$caller') return `rls_read(current_setting('app.caller', true), '${type}')::${type}`;
  const [, of, member] = /^\$(\w+)\.(\w+)$/.exec(text) ?? [];
  if (of === 'caller') return ofCaller(resources, member!);
  if (of === 'claims') return `rls_read(rls_claim('${member}'), '${type}')::${type}`;
  return `${literal(text)}::${type}`;
}

const ofCaller = (resources: Resources, field: string) => {
  const { table, columns } = resources.get('people')!;
  return `(select own.${columns.get(field)!.name} from ${table} as own where own.id = ${CALLER})`;
};

const listSql = (resources: Resources, symbol: string, type: string): string => {
  const [, of, member] = /^\$(\w+)\.(\w+)$/.exec(symbol)!;
  return of === 'caller' ? ofCaller(resources, member!) : `rls_claims('${member}', '${type}')::${type}[]`;
};

const granted = (name: Name, at: number) => `${name}.${at}`;

const isRead = ({ can }: DrawnGrant) => can.includes(VERB) || can.includes('all');

/** The rules as policies of PostgreSQL for a role that reads. Each grant is a function that sees all rows. */
export function policiesOf(rules: DrawnRules, resources: Resources, role: string, schema: string): string[] {
  const settings = `set search_path = ${schema}, pg_catalog`;
  const helpers = [
    `create function ${schema}.rls_read(given text, type text) returns text language sql immutable as $$
  select case when given is null or given = '' then null
    when type = 'uuid' and given !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then null
    when type = 'float8' and given !~ '^-?[0-9]+([.][0-9]+)?$' then null
    else given end $$`,
    `create function ${schema}.rls_claim(name text) returns text language sql stable as $$
  select case when json_typeof(claim) not in ('object', 'array') then claim #>> '{}' end
  from (select nullif(current_setting('app.claims', true), '')::json -> name as claim) as found $$`,
    `create function ${schema}.rls_claims(name text, type text) returns text[] language sql stable as $$
  select case when claim is null then null else array(
    select ${schema}.rls_read(value #>> '{}', type)
    from json_array_elements(case json_typeof(claim) when 'array' then claim else json_build_array(claim) end) as value
    where json_typeof(value) not in ('object', 'array', 'null')
      and ${schema}.rls_read(value #>> '{}', type) is not null) end
  from (select nullif(current_setting('app.claims', true), '')::json -> name as claim) as found $$`,
  ];
  const policies = NAMES.flatMap((name) => {
    const { table } = resources.get(name)!;
    const grants = (rules[name] ?? [{ can: ['all'] }]).flatMap((grant, at) =>
      isRead(grant) ? [{ grant, at }] : [],
    );
    return [
      `grant select on ${table} to ${role}`,
      `alter table ${table} enable row level security`,
      ...grants.flatMap(({ grant, at }) => [
        `create function ${schema}.rls_${name}_${at}(given ${table}) returns boolean language sql stable security definer ${settings} as $$
  select ${grant.where ? sqlOf(resources, name, 'given', grant.where) : 'true'} $$`,
        `create policy rls_${name}_${at} on ${table} for select to ${role}
  using ('${granted(name, at)}' = any (string_to_array(current_setting('app.grants', true), ',')) and ${schema}.rls_${name}_${at}(${table.split('.').at(-1)}))`,
      ]),
    ];
  });
  return [`grant usage on schema ${schema} to ${role}`, ...helpers, ...policies];
}

/** The settings of a session in which a caller reads. */
export function settingsOf(
  rules: DrawnRules,
  { subject, scopes, claims }: Caller,
): Readonly<Record<string, string>> {
  const holds = (scope: string) =>
    scopes.includes('admin') || scopes.includes(scope) || scopes.includes(scope.replace(/read$/, 'write'));
  const applies = (name: Name, { scope, to }: DrawnGrant) =>
    (scope === undefined || holds(scope)) &&
    (to === 'anyone' || holds(`${name}:read`) || (rules[name] !== undefined && scopes.includes('self')));
  const grants = NAMES.flatMap((name) =>
    (rules[name] ?? [{ can: ['all'] }]).flatMap((grant, at) =>
      applies(name, grant) ? [granted(name, at)] : [],
    ),
  );
  return {
    'app.caller': subject ?? '',
    'app.claims': subject === undefined ? '' : JSON.stringify(claims),
    'app.grants': grants.join(','),
  };
}
