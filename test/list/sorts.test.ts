import { readDeclarations } from '../../src/declarations/read-declarations.js';
import type { JsonObject } from '../../src/json.js';
import { planText } from '../../src/schema/checked-plan.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { connect } from '../features/mcp/session.js';
import { callersOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const collection = (properties: JsonObject, options: JsonObject = {}) =>
  declared(properties, { list: 'page', ...options });
const name = { type: 'string', maxLength: 100, 'x-index': true };

const DECLARATIONS = {
  'teams.json': collection({ name, code: { type: 'string', 'x-unique': true } }, { index: ['updated_at'] }),
  'people.json': collection({ name, teamId: { type: 'string', 'x-references': 'teams' } }),
  'users.json': collection({}),
};

const settings = (t: Parameters<typeof declare>[0]) => ({
  COLLECTIONS: declare(t, DECLARATIONS),
  MIGRATE: 'auto',
  MCP: 'on',
});

t.test('lists in every form are sorted by members of the record to which a field refers', async (t) => {
  const service = await testService(t, settings(t));
  const create = async (path: string, body: JsonObject) =>
    (await service.send('POST', path, { body })).json.id as string;
  const ids = new Map<string, string>();
  for (const team of [{ name: 'red' }, { name: 'blue' }, {}])
    ids.set(team.name ?? 'none', await create('/teams', team));
  for (const [person, team] of [
    ['Ann', 'red'],
    ['Bob', 'blue'],
    ['Cem', undefined],
    ['Dan', 'none'],
    ['Eva', 'red'],
  ] as const)
    await create('/people', { name: person, ...(team === undefined ? {} : { teamId: ids.get(team)! }) });
  const rising = ['Bob', 'Ann', 'Eva', 'Cem', 'Dan'];
  const falling = ['Eva', 'Ann', 'Bob', 'Dan', 'Cem'];
  const mixed = ['Ann', 'Eva', 'Bob', 'Cem', 'Dan'];
  const names = (records: readonly JsonObject[]) => records.map((record) => record.name);
  // test/list/compared-queries.ts compares drawn orders in all other forms.
  for (const [query, expected] of [
    ['sort=team.name&order=asc', rising],
    ['sort=team.name&order=desc', falling],
    ['sort=-team.name,name', mixed],
  ] as const) {
    const list = async (path: string, accept = 'application/json') =>
      service.send('GET', path, { headers: { accept } });
    t.same(names((await list(`/people?${query}&limit=9`)).json.data), expected, query);
    const [, ...csv] = (await list(`/people?${query}&fields=name`, 'text/csv')).text.trim().split('\r\n');
    t.equal(csv.map((line) => line.split(',')[1]).join(), expected.join(), query);
    const page = (await list(`/people?${query}`, 'text/html')).text;
    const shown = [...page.matchAll(/<th scope="row"><a [^>]*>(\w+)/g)].map(([, found]) => found);
    t.same(shown, expected, query);
  }
  const page = await service.send('GET', '/people?sort=team.name&order=asc&_filter=1', {
    headers: { accept: 'text/html' },
  });
  t.match(page.text, '<option value="team.name" selected>');
  const body = { sort: ['-team.name', 'name'], fields: ['name'] };
  t.same(names((await service.send('QUERY', '/people', { body })).json.data), mixed);
  const { client } = await connect(t, service.url);
  const { tools } = await client.listTools();
  const { sort } = tools.find(({ name }) => name === 'people_list')!.inputSchema.properties as {
    sort: { items: { enum: string[] } };
  };
  t.ok(sort.items.enum.includes('-team.name'));
  const called = await client.callTool({ name: 'people_list', arguments: { sort: ['-team.name', 'name'] } });
  t.same(names((called.structuredContent as { data: JsonObject[] }).data), mixed);
  const document = (await service.send('GET', '/openapi.json')).json;
  const parameter = document.paths['/people'].get.parameters.find((each: JsonObject) => each.name === 'sort');
  t.same(
    parameter.schema.items.enum.filter((each: string) => !each.startsWith('-')),
    ['created_at', 'name', 'teamId', 'team.created_at', 'team.updated_at', 'team.name', 'team.code'],
  );
});

t.test('updated_at sorts lists whose declaration has its index; errors name it', async (t) => {
  const service = await testService(t, settings(t));
  const create = async (body: JsonObject) =>
    (await service.send('POST', '/teams', { body })).json.id as string;
  const [first, second] = [await create({ name: 'first' }), await create({ name: 'second' })];
  await service.send('PATCH', `/teams/${first}`, {
    body: { code: 'x' },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  const found = await service.send('GET', '/api/v2/teams?sort=-updated_at&limit=1');
  t.same([found.status, found.json.data[0].id], [200, first]);
  const next = await service.send('GET', found.json.links.next);
  t.same([next.status, next.json.data[0].id], [200, second]);
  t.same((await service.send('GET', '/teams?sort=code&order=asc')).json.data[0].id, first);
  const after = new URL(found.json.links.next, service.url).searchParams.get('after')!;
  const foreign = JSON.parse(Buffer.from(after, 'base64url').toString()) as unknown[];
  for (const time of ['0000-01-01T00:00:00Z', '2026-13-01T00:00:00Z', 'no time', null]) {
    const cursor = Buffer.from(JSON.stringify([...foreign.slice(0, -1), time])).toString('base64url');
    const { status, json } = await service.send('GET', `/api/v2/teams?sort=-updated_at&after=${cursor}`);
    t.same([status, json.code], [400, 'INVALID_CURSOR'], String(time));
  }
  for (const sort of ['updated_at', '-updated_at,name']) {
    const { status, json } = await service.send('GET', `/api/v2/people?sort=${sort}`);
    t.equal(status, 400);
    t.match(json.detail, /needs an index: "index": \["updated_at"\] in x-collection/);
    const queried = await service.send('QUERY', '/people', { body: { sort: sort.split(',') } });
    t.equal(queried.status, 400);
    t.match(queried.json.error.message, /needs an index/);
  }
  await sqlOf(t, service.databaseUrl).unsafe(`alter table ${SCHEMA}.teams rename to stored;
    create view ${SCHEMA}.teams as select * from ${SCHEMA}.stored where 1e308::float8 * version * 10 > 0`);
  for (const [path, code] of [
    ['/api/v2/teams?sort=-updated_at', 'BAD_REQUEST'],
    [found.json.links.next, 'INVALID_CURSOR'],
  ])
    t.equal((await service.send('GET', path)).json.code, code, 'without a cursor, another value is at fault');
  const unknown = await service.send('GET', '/api/v2/people?sort=team.rank');
  t.same([unknown.status, unknown.json.code], [400, 'INVALID_QUERY']);
  t.match(unknown.json.detail, /there are created_at, name, teamId, team\.created_at/);
});

t.test('an order by related records needs read access to them', async (t) => {
  const as = callersOf(await testService(t, { ...settings(t), AUTH: 'api-key' }));
  const [some, all] = [await as('a', 'people:read'), await as('a', 'people:read', 'teams:read')];
  for (const path of ['/people', '/api/v2/people'])
    for (const sort of ['team.name', '-team.created_at', 'name,team.code']) {
      t.equal((await some('GET', `${path}?sort=${sort}`)).status, 403);
      t.equal((await all('GET', `${path}?sort=${sort}`)).status, 200);
    }
  t.equal((await some('QUERY', '/people', { sort: ['team.name'] })).status, 403);
  t.equal((await some('GET', '/people?sort=name')).status, 200);
});

t.test('a plan adds and removes the index of updated_at', async (t) => {
  const url = await undeclaredDatabase(t);
  const folder = (index: string[]) => declare(t, { 'books.json': collection({ name }, { index }) });
  const planOf = async (path: string) => planText(await planCollections(url, readDeclarations(path)));
  const [without, indexed] = [folder([]), folder(['updated_at'])];
  await migrateCollections(url, readDeclarations(without));
  t.match(await planOf(indexed), /create index concurrently books_updated_at on \S+ \(updated_at, id\)/);
  await migrateCollections(url, readDeclarations(indexed));
  t.match(await planOf(indexed), 'matches the declarations');
  t.match(await planOf(without), /drop index concurrently if exists \S+books_updated_at/);
});
