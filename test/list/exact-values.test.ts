import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';

import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const indexed = (rules: JsonObject): JsonObject => ({ ...rules, 'x-index': true });
const formatted = (format: string) => indexed({ type: 'string', format });

/** Two texts of each format that have another order than their values. */
const UNORDERED: Readonly<Record<string, readonly [less: string, greater: string]>> = {
  duration: ['PT1H', 'P1D'],
  time: ['23:00:00Z', '22:30:00-01:00'],
  'iso-time': ['23:00:00Z', '22:30:00-01:00'],
  'iso-date-time': ['2026-01-01T23:00:00Z', '2026-01-01T22:30:00-01:00'],
  ipv4: ['9.0.0.1', '10.0.0.1'],
  ipv6: ['9::1', '10::1'],
};
const nameOf = (format: string) => format.replaceAll('-', '_');
const FORMATS: JsonObject = {
  type: 'object',
  properties: Object.fromEntries(Object.keys(UNORDERED).map((format) => [nameOf(format), formatted(format)])),
};
const UNITS: JsonObject = {
  type: 'object',
  properties: {
    formatId: { type: 'string', 'x-references': 'formats' },
    number: indexed({ type: 'number' }),
    at: { type: 'string', format: 'date-time', 'x-unique': true },
    times: indexed({ type: 'array', items: { type: 'string', format: 'date-time' } }),
    unindexed: { type: 'string', format: 'date-time' },
  },
};
const ENV = { 'formats.json': FORMATS, 'units.json': UNITS } as const;

t.test('texts in another order than their values have no order operators', async (t) => {
  const { send } = await testService(t, { COLLECTIONS: declare(t, ENV), MIGRATE: 'auto' });
  const values = Object.entries(UNORDERED).map(([format, both]) => [nameOf(format), both] as const);
  for (const at of [0, 1])
    await send('POST', '/formats', {
      body: Object.fromEntries(values.map(([name, both]) => [name, both[at]!])),
    });
  const refused = { status: 400, json: { error: { code: 'INVALID_QUERY' } } };
  for (const [name, [less, greater]] of values) {
    const value = encodeURIComponent(less);
    for (const operator of ['lt', 'lte', 'gt', 'gte', 'between'])
      t.match(await send('GET', `/formats?filter[${name}][${operator}]=${value}`), refused, operator);
    const grouped = `group=${name}&sort=`;
    const ordered = [`sort=${name}`, `sort=-${name}`, `${grouped}${name}`, `${grouped}-${name}`];
    for (const query of [...ordered, `aggregate=min(${name})`, `aggregate=max(${name})`])
      t.match(await send('GET', `/formats?${query}`), refused, query);
    t.match(await send('GET', `/units?sort=format.${name}`), refused, 'nor over a relation');
    t.match(await send('QUERY', '/formats', { body: { filter: { [name]: { gt: less } } } }), refused);
    for (const query of [
      `[eq]=${value}`,
      `=${value}`,
      `[in]=${value}`,
      `[ne]=${encodeURIComponent(greater)}`,
    ]) {
      const { json } = await send('GET', `/formats?filter[${name}]${query}`);
      t.equal(json.meta.total, 1, `${name}${query}`);
    }
    t.match((await send('GET', `/formats?group=${name}&sort=-count`)).json.meta, { groups: 2 });
  }
});

t.test('sums and averages are doubles, or refused beyond these', async (t) => {
  const { send } = await testService(t, { COLLECTIONS: declare(t, ENV), MIGRATE: 'auto' });
  const tables: readonly (readonly [numbers: readonly number[], sum: number | undefined])[] = [
    [[9007199254740991, 1], 9007199254740992],
    [[9007199254740992, 1], 9007199254740992],
    [[1e308, 1e308], undefined],
    [[5e-324, 0], 5e-324],
    [[6e23, 6e23], 1.2e24],
    [[0.1, 0.2], 0.3],
    [[12.5, 13], 25.5],
  ];
  for (const [at, [numbers, sum]] of tables.entries()) {
    const parent = (await send('POST', '/formats', { body: {} })).json.id;
    for (const number of numbers) await send('POST', '/units', { body: { number, formatId: parent } });
    const path = `/units?filter[formatId]=${parent}&aggregate=count,sum(number),avg(number)`;
    const summed = await send('GET', path);
    if (sum === undefined)
      t.match(summed, { status: 400, json: { error: { details: { parameter: 'aggregate' } } } }, String(at));
    else {
      const [{ count, 'sum(number)': found, 'avg(number)': average }] = summed.json.data;
      t.equal(count, numbers.length);
      const isAbout = (given: number, wanted: number) =>
        Math.abs(given - wanted) <= wanted * 1e-15 + Number.MIN_VALUE;
      t.ok(isAbout(found, sum), `${found} is about ${sum}`);
      t.ok(isAbout(average, sum / numbers.length), `${average} is about the average of ${at}`);
    }
    const batch = await send('POST', '/batch', { body: { operations: [{ method: 'GET', path }] } });
    t.equal(batch.status === 200, sum !== undefined, `${at} in a batch`);
  }
  t.same((await send('GET', '/units?filter[number]=7&aggregate=sum(number),avg(number)')).json.data, [
    { 'sum(number)': null, 'avg(number)': null },
  ]);
  const small = '/units?filter[number][lt]=1e100&group=formatId&aggregate=avg(number)&sort=-avg(number)';
  const sums = await send('GET', small);
  const averages = sums.json.data.map((group: JsonObject) => group['avg(number)']);
  const sorted = averages.toSorted((a: number, b: number) => b - a);
  t.same(averages, sorted, 'groups are sorted by the number, not by its text');
});

t.test('a time finer than milliseconds is 400 where times are compared', async (t) => {
  const { send, databaseUrl } = await testService(t, { COLLECTIONS: declare(t, ENV), MIGRATE: 'auto' });
  const at = '2026-01-31T12:00:00.123';
  const refused = { status: 400, json: { error: { code: 'VALIDATION_ERROR' } } };
  for (const fraction of ['4', '456', '0001', '000000001'])
    for (const body of [{ at: `${at}${fraction}Z` }, { times: [`${at}Z`, `${at}${fraction}+01:00`] }]) {
      t.match(await send('POST', '/units', { body }), refused, JSON.stringify(body));
      for (const [field, value] of Object.entries(body))
        for (const operator of field === 'at' ? ['eq', 'gt', 'in'] : ['has', 'any']) {
          const operand = encodeURIComponent([value].flat().at(-1)!);
          const { status, json } = await send('GET', `/units?filter[${field}][${operator}]=${operand}`);
          t.same([status, json.error.code], [400, 'INVALID_QUERY']);
        }
      // Also of the times that the service sets.
      t.equal((await send('GET', `/units?filter[created_at][gt]=${at}${fraction}Z`)).status, 400);
    }
  const { json } = await send('POST', '/units', { body: { at: `${at}000Z`, unindexed: `${at}456Z` } });
  // Zeros are not finer, and nothing compares the other.
  t.match(json, { at: `${at}000Z`, unindexed: `${at}456Z` });
  t.equal((await send('POST', '/units', { body: { at: `${at}Z` } })).status, 409);
  for (const [type, body] of [
    ['application/merge-patch+json', { at: `${at}4Z` }],
    ['application/json-patch+json', [{ op: 'replace', path: '/at', value: `${at}4Z` }]],
  ] as const)
    t.match(await send('PATCH', `/units/${json.id}`, { body, type }), refused, type);
  const sql = sqlOf(t, databaseUrl);
  await sql`update public_collections.units set doc = replace(doc, '.123000Z', '.123456Z')`;
  const patched = await send('PATCH', `/units/${json.id}`, { body: { number: 1 } });
  // A stored one does not prevent changes.
  t.match(patched, { status: 200, json: { at: `${at}456Z`, number: 1 } });
});
