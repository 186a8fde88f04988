import type postgres from 'postgres';
import type { Resource } from '../../src/collection/resource.js';
import type { Json, JsonObject } from '../../src/json.js';
import { parametersIn } from '../../src/list/comparison-sql.js';
import { recordsSql } from '../../src/list/condition-sql.js';
import { readList } from '../../src/list/read-list.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import { openSql } from '../support/sql.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';
import { type Data, fulfils } from './evaluator.js';
import { DECLARATIONS, type Draw, drawing, fill, RELATIONS, WORDS } from './tracker.js';

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  string: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'between', 'in', 'nin', 'prefix', 'null'],
  number: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'between', 'in', 'nin', 'null'],
  boolean: ['eq', 'ne', 'in', 'nin', 'null'],
  uuid: ['eq', 'ne', 'in', 'nin', 'null'],
  array: ['has', 'any'],
};

/** Draws filters of a collection, with the values of its records. */
function filters(data: Data, { next, pick, maybe }: Draw) {
  const properties = (name: string) =>
    (DECLARATIONS as unknown as Record<string, { properties: Record<string, JsonObject> }>)[`${name}.json`]!
      .properties;
  const condition = (name: string): [string, Json] => {
    const declared = Object.entries(properties(name)).filter(
      ([, rules]) => rules['x-index'] || rules['x-references'],
    );
    const own = ['id', 'created_at', 'updated_at', '_version'] as const;
    const searched = Object.keys(properties(name)).filter((field) => properties(name)[field]!['x-search']);
    if (searched.length > 0 && maybe(0.15))
      return [pick(searched), { contains: pick([...WORDS, 're', 'RED', 'n', '%', '_', '\\']) }];
    const [field, rules] = maybe(0.2) ? [pick(own), { type: 'own' } as JsonObject] : pick(declared);
    const values = data[name]!.flatMap((record) => (record[field] === undefined ? [] : [record[field]!]));
    const isId = rules['x-references'] !== undefined || field === 'id';
    const kind = isId
      ? 'uuid'
      : field === '_version'
        ? 'number'
        : rules.type === 'own'
          ? 'time'
          : String(rules.type);
    const operators =
      kind === 'time' || rules.format === 'date-time'
        ? OPERATORS.string!.filter((each) => each !== 'prefix')
        : OPERATORS[kind]!;
    const operator = pick(
      field in { id: 1, created_at: 1, updated_at: 1, _version: 1 }
        ? operators.filter((each) => each !== 'null')
        : operators,
    );
    const value = (): Json => {
      const found = values.length === 0 ? WORDS[0]! : pick(values);
      return Array.isArray(found) ? pick(found) : found;
    };
    const list = (length: number) => Array.from({ length }, value);
    const operand =
      operator === 'null'
        ? maybe(0.5)
        : operator === 'between'
          ? list(2)
          : operator === 'in' || operator === 'nin' || operator === 'any'
            ? list(1 + next(3))
            : operator === 'prefix'
              ? String(value()).slice(0, 1 + next(3))
              : value();
    const written = operator === 'eq' && maybe(0.5) ? operand : { [operator]: operand };
    // A backslash distinguishes a field from a name that combines conditions.
    return [['or', 'not'].includes(field) ? `\\${field}` : field, written];
  };
  const filter = (name: string, steps: number, depth: number): JsonObject => {
    const members: [string, Json][] = [];
    for (let n = 1 + next(2); n > 0; n--) {
      const relations = Object.entries(RELATIONS[name]!);
      const kind = next(10);
      if (depth > 0 && kind < 2)
        members.push([
          pick(['or', 'and']),
          Array.from({ length: 1 + next(3) }, () => filter(name, steps, depth - 1)),
        ]);
      else if (depth > 0 && kind === 2) members.push(['not', filter(name, steps, depth - 1)]);
      else if (steps > 0 && kind < 7) {
        const [relation, { to, field }] = pick(relations);
        const inner = () => filter(to, steps - 1, depth - 1);
        if (field !== undefined) members.push([relation, inner()]);
        else {
          const quantifier = pick(['some', 'none', 'every']);
          members.push([relation, { [quantifier]: quantifier !== 'every' && maybe(0.3) ? true : inner() }]);
        }
      } else members.push(condition(name));
    }
    return Object.fromEntries(members);
  };
  return filter;
}

/** The ids that the source of Citus has for a query, read from PostgreSQL, which has its syntax as well. */
async function onCitus(
  resources: ReadonlyMap<string, Resource>,
  sql: postgres.Sql,
  name: string,
  address: string,
): Promise<string[]> {
  const given = new URLSearchParams(address.slice(address.indexOf('?')));
  const others = (other: string) => ({ resource: resources.get(other)!, access: undefined });
  const { selection } = readList(given, resources.get(name)!, { lists: 'numbered', others });
  const args: string[] = [];
  const records = recordsSql(resources.get(name)!, selection, parametersIn(args), 'citus');
  const rows = await sql.unsafe(`select record.id from ${records}`, args);
  return rows.map(({ id }) => String(id)).sort();
}

t.test('drawn filters select what the language says, in every form of a list', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.comment(`seed ${seed}`);
  const draw = drawing(seed);
  const data = await fill(service, draw);
  const resources = new Map(service.collections.map(({ resource }) => [resource.name, resource]));
  const sql = openSql(service.databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  const drawFilter = filters(data, draw);
  const ids = (records: readonly JsonObject[]) => records.map(({ id }) => String(id)).sort();
  let selecting = 0;
  for (let n = times(300, 2000, 20_000); n > 0; n--) {
    const name = draw.pick(Object.keys(RELATIONS));
    const filter = drawFilter(name, 3, 3);
    const expected = ids(data[name]!.filter((record) => fulfils(data, RELATIONS, name, record, filter)));
    if (expected.length > 0 && expected.length < data[name]!.length) selecting++;
    const body = { filter, fields: ['id'], limit: 100 };
    const shown = JSON.stringify(body.filter);
    const found = await service.send('QUERY', `/${name}`, { body });
    if (found.status !== 200) {
      t.match(
        found.json.error,
        { code: 'INVALID_QUERY', message: /has more than (50 conditions|20 relations)|at most 24/ },
        shown,
      );
      continue;
    }
    t.same(ids(found.json.data), expected, shown);
    t.equal(found.json.meta.total, expected.length, `the total of ${shown}`);
    const address = found.headers.location;
    if (address !== undefined && draw.maybe(0.3))
      t.same(
        await onCitus(resources, sql, name, address),
        expected,
        `with the statements of Citus: ${shown}`,
      );
    if (address === undefined || !draw.maybe(0.3)) continue;
    const query = address.slice(address.indexOf('?') + 1);
    t.same(ids((await service.send('GET', address)).json.data), expected, address);
    const next = await service.send('GET', `/api/v2/${name}?${query}&count=exact`);
    t.same([ids(next.json.data), next.json.meta.total], [expected, expected.length], `version 2: ${address}`);
    const lines = await service.send('GET', `/${name}?${query.replace(/&?limit=100/, '')}`, {
      headers: { accept: 'application/x-ndjson' },
    });
    const records = lines.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as JsonObject);
    t.same(ids(records), expected, `as lines: ${address}`);
  }
  t.ok(selecting > 50, `${selecting} filters select a part of the records`);
});
