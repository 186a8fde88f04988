import type { Json, JsonObject } from '../../src/json.js';
import { callersOf, making } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { notInDefault, times } from '../support/thorough.js';
import { recordsIn } from '../support/words.js';
import { drawSchema, fillDrawn } from './drawn-schema.js';
import { fulfils } from './evaluator.js';
import { filters, isIndexed, isOrdered } from './filters.js';
import { DECLARATIONS, drawingOf, fill, type Schema, TRACKER, type World } from './tracker.js';

const MARKS = declared(
  {
    teamId: { type: 'string', 'x-references': 'teams', 'x-on-delete': 'cascade' },
    name: { type: 'string', maxLength: 1100, 'x-index': true },
  },
  { nested: true },
  { required: ['teamId'] },
);

const PERIODS = ['hour', 'day', 'week', 'month', 'year'];

/** The value of a key of groups: that of a field, or the hour or day at which a period begins, in UTC. */
function keyOf(record: JsonObject, name: string): Json {
  const [, period, field] = /^(\w+)\((.*)\)$/.exec(name) ?? [];
  if (period === undefined) return record[name] ?? null;
  const time = record[field!];
  if (time === undefined) return null;
  if (period === 'hour') return `${new Date(String(time)).toISOString().slice(0, 13)}:00:00.000Z`;
  const day = new Date(`${String(time).slice(0, 10)}T00:00:00Z`);
  if (period === 'week') day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  if (period === 'month') day.setUTCDate(1);
  if (period === 'year') day.setUTCMonth(0, 1);
  return day.toISOString().slice(0, 10);
}

function aggregateOf(records: readonly JsonObject[], name: string): Json {
  const [, apply, field] = /^(\w+)\((.*)\)$/.exec(name) ?? [];
  if (apply === undefined || apply === 'count') return records.length;
  const values = records.flatMap((record) => (record[field!] === undefined ? [] : [record[field!]!]));
  if (values.length === 0) return null;
  const sum = () => (values as number[]).reduce((a, b) => a + b, 0);
  if (apply === 'sum') return sum();
  if (apply === 'avg') return sum() / values.length;
  const sorted = values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return apply === 'min' ? sorted[0]! : sorted.at(-1)!;
}

const rounded = (value: Json | undefined) =>
  typeof value === 'number' ? Math.round(value * 1e6) / 1e6 : value;

t.test('drawn groups have the values that JavaScript computes', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const draw = drawingOf(t);
  const data = await fill(service, draw);
  await compare(t, { service, draw, schema: TRACKER, data }, times(20, 100, 600));
});

const OF_DRAWN = 'drawn groups of drawn declarations have the values that JavaScript computes';
t.test(OF_DRAWN, { skip: notInDefault }, async (t) => {
  for (let n = times(1, 3, 10); n > 0; n--) {
    const draw = drawingOf(t);
    const schema = drawSchema(draw);
    const COLLECTIONS = declare(t, schema.declarations as JsonObject);
    const service = await testService(t, { COLLECTIONS, MIGRATE: 'auto' });
    const data = await fillDrawn(service, draw, schema);
    await compare(t, { service, draw, schema, data }, times(30, 50, 200));
  }
});

/** The keys and the aggregates of groups that the declaration of a collection permits. */
function namesOf({ declarations }: Schema, collection: string): [keys: string[], aggregates: string[]] {
  const fields = Object.entries(declarations[`${collection}.json`]!.properties).filter(
    ([, rules]) => isIndexed(rules) && rules.type !== 'array',
  );
  const named = (test: (rules: JsonObject) => boolean) =>
    fields.filter(([, rules]) => test(rules)).map(([name]) => name);
  const days = named(({ format }) => format === 'date' || format === 'date-time');
  const times = ['created_at', 'updated_at'];
  const numbers = named(({ type }) => type === 'number' || type === 'integer');
  const texts = named(
    (rules) => rules.type === 'string' && isOrdered(rules) && rules['x-references'] === undefined,
  );
  const apply = (functions: readonly string[], names: readonly string[]) =>
    names.flatMap((name) => functions.map((each) => `${each}(${name})`));
  return [
    [
      ...fields.map(([name]) => name),
      '_version',
      ...apply(PERIODS.slice(1), [...days, ...times]),
      ...apply(['hour'], [...named(({ format }) => format === 'date-time'), ...times]),
    ],
    ['count', ...apply(['sum', 'avg'], numbers), ...apply(['min', 'max'], [...numbers, ...texts, ...times])],
  ];
}

/** A name as an address has it in a list of names. */
const written = (name: string) => name.replaceAll(/[\\,[\]]/g, '\\$&');

/** Compares the groups of so many drawn queries with those that plain JavaScript makes of the records. */
async function compare(t: Test, { service, draw, schema, data }: World, count: number): Promise<void> {
  const { relations } = schema;
  const { next, pick, maybe } = draw;
  const drawFilter = filters(data, draw, schema);
  for (let n = count; n > 0; n--) {
    const collection = pick(Object.keys(relations));
    const [possibleKeys, possibleAggregates] = namesOf(schema, collection);
    const keys = [...new Set(Array.from({ length: next(3) }, () => pick(possibleKeys)))];
    const length = keys.length === 0 ? 1 + next(3) : next(4);
    const named = [...new Set(Array.from({ length }, () => pick(possibleAggregates)))];
    const aggregates = named.length === 0 ? ['count'] : named;
    const filter = maybe(0.4) ? {} : drawFilter(collection, 2, 1);
    const body = {
      ...(keys.length === 0 ? {} : { group: keys }),
      ...(named.length === 0 ? {} : { aggregate: named }),
      ...(Object.keys(filter).length === 0 ? {} : { filter }),
    };
    const shown = JSON.stringify(body);
    const groups = new Map<string, JsonObject[]>();
    if (keys.length === 0) groups.set('[]', []);
    for (const record of data[collection]!.filter((each) =>
      fulfils(data, relations, collection, each, filter),
    )) {
      const key = JSON.stringify(keys.map((name) => keyOf(record, name)));
      groups.set(key, [...(groups.get(key) ?? []), record]);
    }
    const expected = [...groups].map(([key, records]) => [
      ...(JSON.parse(key) as Json[]),
      ...aggregates.map((name) => rounded(aggregateOf(records, name))),
    ]);
    const names = [...keys, ...aggregates];
    const listed = (found: readonly JsonObject[]) =>
      found.map((group) => names.map((name) => rounded(group[name])));
    const sorted = (rows: readonly (readonly unknown[])[]) => rows.map((row) => JSON.stringify(row)).sort();
    const queried = await service.send('QUERY', `/${collection}`, { body });
    t.equal(queried.status, 200, `${shown} ${queried.text.slice(0, 300)}`);
    t.same(sorted(listed(queried.json.data)), sorted(expected), shown);
    t.same(queried.json.meta, { groups: expected.length }, shown);
    t.equal(queried.headers['content-type'], 'application/json; profile=groups');
    const address = queried.headers.location!;
    for (const prefix of ['', '/api/v2'])
      t.same((await service.send('GET', `${prefix}${address}`)).json, queried.json, `${prefix}${address}`);
    const properties = schema.declarations[`${collection}.json`]!.properties as Record<string, JsonObject>;
    const name = pick(['count', ...names].filter((each) => isOrdered(properties[each] ?? {})));
    if (!names.includes(name)) continue;
    const falling = maybe(0.5);
    const sort = new URLSearchParams({ sort: `${falling ? '-' : ''}${written(name)}`, limit: '3' });
    const first = (await service.send('GET', `${address}&${sort}`)).json.data as JsonObject[];
    const order = (a: Json, b: Json) =>
      a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * (falling ? -1 : 1);
    const place = names.indexOf(name);
    const values = expected.map((row) => row[place] as Json).toSorted(order);
    const shownFirst = first.map((group) => rounded(group[name]));
    t.same(shownFirst, values.slice(0, 3), `${address}&${sort}`);
    const lines = await service.send('GET', address, { headers: { accept: 'application/x-ndjson' } });
    t.same(recordsIn(lines.text), queried.json.data, 'as lines');
    const csv = await service.send('GET', address, { headers: { accept: 'text/csv' } });
    t.equal(csv.text.split('\r\n').length, expected.length + 2, 'a line for each group, and the names');
  }
  t.comment(`${count} queries of groups compared`);
}

t.test('what cannot be grouped is 400 and names what can; groups are bounded', async (t) => {
  const COLLECTIONS = declare(t, { ...DECLARATIONS, 'marks.json': MARKS });
  const service = await testService(t, { COLLECTIONS, MIGRATE: 'auto', AUTH: 'api-key' });
  const as = callersOf(service);
  const [admin, some] = [await as('root'), await as('a reader', 'teams:read')];
  const get = (path: string) => admin('GET', path);
  for (const [query, parameter, message] of [
    ['group=title', 'group', /unknown group, title: there are .*status, estimate.*day\(created_at\)/],
    ['group=id', 'group', /unknown group/],
    ['group=minute(created_at)', 'group', /unknown group/],
    [
      'group=status&aggregate=sum(status)',
      'aggregate',
      /unknown aggregate, sum\(status\): there are count, /,
    ],
    ['aggregate=median(estimate)', 'aggregate', /unknown aggregate/],
    ['group=status&page=2', 'page', /cannot be combined/],
    ['group=status&fields=status', 'fields', /cannot be combined/],
    ['group=status&sort=estimate', 'sort', /one of status, count/],
    ['group=status&limit=1001', 'limit', /from 1 to 1000/],
    ['group=status&filter[colour]=red', 'filter[colour]', /names no field/],
    ['group=status,estimate,isOpen,assigneeId,projectId', 'group', /more than 4/],
  ] as const) {
    const { status, json } = await get(`/issues?${query}`);
    t.equal(status, 400, query);
    t.match(json.error, { code: 'INVALID_QUERY', details: { parameter } }, query);
    t.match(json.error.message, message, query);
  }
  const { count } = (await get('/people?aggregate=count')).json.data[0];
  t.equal(count, 0, 'of no records');
  const batches = async (path: string, bodyOf: (n: number, at: number) => JsonObject) => {
    for (let n = 0; n < 11; n++) {
      const bodies = Array.from({ length: 100 }, (_, at) => bodyOf(n, at));
      const operations = bodies.map((body) => ({ method: 'POST', path, body }));
      t.equal((await admin('POST', '/batch', { operations })).status, 200);
    }
  };
  await batches('/teams', (n, at) => ({ name: `${n} ${at}`, rank: n }));
  const { id: team } = (await get('/teams?limit=1')).json.data[0];
  await batches(`/teams/${team}/marks`, (n, at) => ({ name: `${'x'.repeat(1050)} ${n} ${at}` }));
  const ofTeam = `/teams/${team}/marks`;
  t.equal((await get(`${ofTeam}?group=name`)).status, 413);
  t.equal((await admin('QUERY', ofTeam, { group: ['name'] })).status, 413);
  const long = await get(`${ofTeam}?group=name&limit=1000`);
  t.match([long.status, long.json.error.code], [413, 'RESPONSE_TOO_LARGE']);
  t.equal((await get(`${ofTeam}?group=name&limit=900`)).json.data.length, 900);
  t.same((await get(`${ofTeam}?aggregate=count`)).json.data, [{ count: 1100 }]);
  const many = await get('/teams?group=name');
  t.match([many.status, many.json.error], [413, { code: 'TOO_MANY_GROUPS', details: { limit: 1000 } }]);
  t.equal((await get('/teams?group=name&limit=1000')).json.data.length, 1000);
  t.same((await get('/teams?group=rank&aggregate=count&sort=-rank&limit=2')).json.data, [
    { rank: 10, count: 100 },
    { rank: 9, count: 100 },
  ]);
  for (const name of ['a', 'b']) await making(t, admin)('/teams', { name, rank: 1e308 });
  const sum = await get('/teams?aggregate=sum(rank)');
  t.match(
    [sum.status, sum.json.error],
    [400, { code: 'INVALID_QUERY', details: { parameter: 'aggregate' } }],
  );
  t.equal((await some('GET', '/teams?group=rank')).status, 200);
  t.equal((await some('GET', '/teams?group=rank&filter[owner][name]=a')).status, 403);
  t.equal((await some('GET', '/issues?group=status')).status, 403);
});

t.test('every day from the year 1 on has its periods, the year 0 has no weeks', async (t) => {
  const time = { type: 'string', format: 'date-time', 'x-index': true };
  const properties = {
    day: { type: 'string', format: 'date', 'x-index': true },
    time,
    times: { type: 'array', items: { type: 'string', format: 'date-time' }, 'x-index': true },
    days: { type: 'array', items: { type: 'string', format: 'date' }, 'x-index': true },
  };
  const service = await testService(t, {
    COLLECTIONS: declare(t, { 'days.json': { title: 'Day', type: 'object', properties } }),
    MIGRATE: 'auto',
  });
  const days = ['0001-01-01', '1900-02-28', '9999-12-31'];
  for (const day of days) {
    const body = { day, time: `${day}T12:00:00Z`, times: [] };
    t.equal((await service.send('POST', '/days', { body })).status, 201, day);
  }
  for (const field of ['day', 'time'])
    for (const period of field === 'day' ? PERIODS.slice(1) : PERIODS) {
      const key = `${period}(${field})`;
      const { status, json } = await service.send('GET', `/days?group=${key}`);
      t.equal(status, 200, key);
      const starts = days.map((day) =>
        String(keyOf({ [field]: field === 'day' ? day : `${day}T12:00:00Z` }, key)),
      );
      const found = json.data.map((group: JsonObject) => group[key]);
      t.same(found.toSorted(), [...new Set(starts)].toSorted(), key);
    }
  for (const key of ['month(times)', 'day(days)', 'times', 'hour(day)', 'hour(times)'])
    t.equal((await service.send('GET', `/days?group=${key}`)).status, 400, key);
  await service.send('POST', '/days', { body: { day: '0000-12-31', times: [] } });
  t.equal((await service.send('GET', '/days?group=week(day)')).status, 400);
  t.equal((await service.send('GET', '/days?group=month(day)')).status, 200);
});

t.test('an hour is one of UTC, whatever the offset and the fraction of a time are', async (t) => {
  const time = { type: 'string', format: 'date-time', 'x-index': true };
  const service = await testService(t, {
    COLLECTIONS: declare(t, { 'days.json': { title: 'Day', type: 'object', properties: { time } } }),
    MIGRATE: 'auto',
  });
  for (const text of ['2026-03-01T00:30:00+02:00', '2026-02-28T22:59:59.999Z', '2026-02-28T23:00:00z'])
    t.equal((await service.send('POST', '/days', { body: { time: text } })).status, 201, text);
  await service.send('POST', '/days', { body: {} });
  const { json } = await service.send('GET', '/days?group=hour(time)');
  t.same(json.data, [
    { 'hour(time)': '2026-02-28T22:00:00.000Z', count: 2 },
    { 'hour(time)': '2026-02-28T23:00:00.000Z', count: 1 },
    { 'hour(time)': null, count: 1 },
  ]);
  const own = await service.send('GET', '/days?group=hour(created_at),hour(updated_at)');
  const counts = own.json.data.map(({ count }: { count: number }) => count);
  t.equal(
    counts.reduce((sum: number, count: number) => sum + count, 0),
    4,
  );
  for (const group of own.json.data)
    for (const key of ['hour(created_at)', 'hour(updated_at)'])
      t.match(group[key], /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/, key);
});

t.test('a page counts records, and leads from a group to its records', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  for (const isOpen of [true, true, false, undefined])
    await service.send('POST', '/issues', {
      body: { title: 'x', status: 'open', ...(isOpen === undefined ? {} : { isOpen }) },
    });
  const page = async (path: string) =>
    (await service.send('GET', path, { headers: { accept: 'text/html' } })).text;
  const list = await page('/issues?filter[status]=open&sort=estimate&_filter=1');
  const href = /<a href="([^"]*)">Is open<\/a>/.exec(list)?.[1]?.replaceAll('&#38;', '&');
  t.equal(href, '/issues?filter%5Bstatus%5D=open&group=isOpen&sort=-count');
  const groups = await page(href!);
  const rows = [...groups.matchAll(/<tr><th[^>]*><a href="([^"]*)">(Yes|No)<\/a><\/th><td[^>]*>(\d)<\/td>/g)];
  t.same(rows.map(([, , value, count]) => `${value} ${count}`).join(), 'Yes 2,No 1');
  const records = await page(rows[0]![1]!.replaceAll('&#38;', '&'));
  t.match(records, /2 issues/);
});
