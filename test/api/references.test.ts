import { checkDeclarations } from '../../src/declarations/check-declarations.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const reference = (to: string, action: string) => ({
  type: 'string',
  'x-references': to,
  'x-on-delete': action,
});
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const COLLECTIONS = {
  'teams.json': object({ name: { type: 'string' } }),
  'matches.json': object({
    homeTeamId: reference('teams', 'restrict'),
    awayTeamId: reference('teams', 'restrict'),
  }),
  'projects.json': object({}),
  ...Object.fromEntries(
    ['restrict', 'cascade', 'null'].map((action) => [
      `${action}s.json`,
      object({
        parentId: reference(`${action}s`, action),
        projectId: reference('projects', 'cascade'),
      }),
    ]),
  ),
  // Records of two collections that refer to each other.
  'ones.json': object({ twoId: reference('twos', 'null') }),
  'twos.json': object({ oneId: reference('ones', 'null') }),
  // Relations that would have one name.
  'boxes.json': object({
    boxesId: reference('boxes', 'null'),
    owner: reference('teams', 'null'),
    ownerId: reference('teams', 'null'),
  }),
  'nodes.json': object(
    { rootId: { ...reference('nodes', 'restrict'), type: ['string', 'null'] } },
    { required: ['rootId'] },
  ),
  'bags.json': object({ bags: reference('bags', 'null') }),
};

async function service(t: Test) {
  const { send, ...rest } = await testService(t, { COLLECTIONS: declare(t, COLLECTIONS), MIGRATE: 'auto' });
  return {
    ...rest,
    send,
    create: async (path: string, body: object = {}): Promise<string> =>
      (await send('POST', path, { body })).json.id,
    change: async (path: string, body: object) => t.equal((await send('PATCH', path, { body })).status, 200),
    exists: async (path: string) => (await send('GET', path)).status === 200,
  };
}

t.test('a record to which others of its collection refer', async (t) => {
  const { send, create, exists } = await service(t);
  for (const ifMatch of [undefined, '"1"']) {
    const headers = ifMatch === undefined ? {} : { 'if-match': ifMatch };
    const outcomes = { restrict: [409, true, true], cascade: [204, false, false], null: [204, false, true] };
    for (const [action, expected] of Object.entries(outcomes)) {
      const path = `/${action}s`;
      const parent = await create(path);
      const child = await create(path, { parentId: parent });
      const { status, json } = await send('DELETE', `${path}/${parent}`, { headers });
      t.same([status, await exists(`${path}/${parent}`), await exists(`${path}/${child}`)], expected, action);
      if (status === 409) t.match(json.error, { code: 'REFERENCED', details: { collection: 'restricts' } });
      if (action === 'null') t.notOk('parentId' in (await send('GET', `${path}/${child}`)).json);
      const missing = await send('POST', path, {
        body: { parentId: '00000000-0000-7000-8000-000000000000' },
      });
      t.match(missing, { status: 422, json: { error: { details: { path: '/parentId' } } } });
    }
  }
  const parent = await create('/restricts');
  await create('/restricts', { parentId: parent });
  const batch = await send('POST', '/batch', { body: [{ method: 'DELETE', path: `/restricts/${parent}` }] });
  t.match(batch.text, /REFERENCED/);
});

t.test('all records that match a filter are deleted, whichever of them refer to others', async (t) => {
  const { send, create, change } = await service(t);
  const all = '/restricts?filter[created_at][gte]=2000-01-01T00:00:00Z';
  const root = await create('/restricts');
  const others: string[] = [];
  for (let n = 0; n < 20; n++)
    others.push(await create('/restricts', { parentId: [root, ...others][n % 7 === 0 ? 0 : n] }));
  // The oldest refers to the newest of others, too.
  const last = await create('/restricts');
  await change(`/restricts/${root}`, { parentId: last });
  // Each refers to a newer one.
  const chain = [last];
  for (let n = 0; n < 15; n++) chain.push(await create('/restricts'));
  for (let n = 1; n < 15; n++) await change(`/restricts/${chain[n]}`, { parentId: chain[n + 1] });
  const some = `/restricts?filter[id][in]=${[root, ...others].slice(0, 9).join(',')}`;
  t.match(await send('DELETE', some), { status: 409, json: { error: { code: 'REFERENCED' } } });
  t.equal((await send('GET', `${all}&page=1`)).json.meta.total, 37, 'nothing is deleted');
  t.match(await send('DELETE', all), { status: 200, json: { meta: { matched: 37 } } });
  t.equal((await send('GET', `${all}&page=1`)).json.meta.total, 0);
});

t.test('a record that refers to itself, and records in a circle', async (t) => {
  const { send, create, change, exists } = await service(t);
  for (const action of ['restrict', 'cascade', 'null']) {
    const path = `/${action}s`;
    const self = await create(path);
    await change(`${path}/${self}`, { parentId: self });
    const { status } = await send('DELETE', `${path}/${self}`);
    t.ok(status === 204 || (status === 409 && action === 'restrict'), `${action}: ${status}`);
    t.equal(await exists(`${path}/${self}`), status === 409);
    const [a, b] = [await create(path), await create(path)];
    await change(`${path}/${a}`, { parentId: b });
    await change(`${path}/${b}`, { parentId: a });
    const circle = (await send('DELETE', `${path}/${a}`)).status;
    t.equal(circle, action === 'restrict' ? 409 : 204, action);
    t.equal(await exists(`${path}/${b}`), action !== 'cascade');
  }
  const one = await create('/ones');
  const two = await create('/twos', { oneId: one });
  await change(`/ones/${one}`, { twoId: two });
  t.equal((await send('DELETE', `/ones/${one}`)).status, 204);
  t.notOk('oneId' in (await send('GET', `/twos/${two}`)).json);
});

t.test('records that refer to each other are deleted together with what both belong to', async (t) => {
  const { send, create, change } = await service(t);
  for (const action of ['cascade', 'null']) {
    const path = `/${action}s`;
    const project = await create('/projects');
    const ids: string[] = [];
    for (let at = 0; at < 4; at++)
      ids.push(await create(path, { projectId: project, ...(at > 0 && { parentId: ids[at - 1] }) }));
    await change(`${path}/${ids[0]}`, { parentId: ids[3] });
    const outside = await create(path, { parentId: ids[2] });
    t.equal((await send('DELETE', `/projects/${project}`)).status, 204, action);
    const rest = (await send('GET', path)).json.map(({ id }: { id: string }) => id);
    t.same(rest, action === 'null' ? [outside] : [], action);
    t.equal((await send('DELETE', `${path}/${outside}`)).status, 204);
  }
  const [first, second] = [await create('/nulls'), await create('/nulls')];
  await change(`/nulls/${first}`, { parentId: second });
  await change(`/nulls/${second}`, { parentId: first });
  t.equal((await send('DELETE', '/nulls?filter[parentId][null]=false')).status, 200, 'all that match');
  t.same((await send('GET', '/nulls')).json, []);
});

t.test('a reference that is required may be null, and then refers to no record', async (t) => {
  const { send } = await testService(t, { COLLECTIONS: declare(t, COLLECTIONS), MIGRATE: 'auto' });
  const root = await send('POST', '/nodes', { body: { rootId: null } });
  t.match(root, { status: 201, json: { rootId: null } });
  const leaf = await send('POST', '/nodes', { body: { rootId: root.json.id } });
  t.equal((await send('DELETE', `/nodes/${root.json.id}`)).status, 409);
  for (const [body, status] of [
    [{}, 400],
    [{ rootId: '' }, 422],
    [{ rootId: 'null' }, 422],
  ] as const)
    t.equal((await send('POST', '/nodes', { body })).status, status, JSON.stringify(body));
  const roots = await send('GET', '/nodes?filter[rootId][null]=true&include=root&page=1');
  t.match(roots.json.data, [{ id: root.json.id, rootId: null, _included: { root: null } }]);
  t.equal(roots.json.data.length, 1);
  const path = `/nodes/${leaf.json.id}`;
  t.match(await send('PATCH', path, { body: { rootId: null } }), { status: 200, json: { rootId: null } });
  t.equal((await send('PUT', path, { body: { rootId: null } })).status, 200);
  t.equal((await send('DELETE', `/nodes/${root.json.id}`)).status, 204);
});

t.test('related records are those of all references, each once', async (t) => {
  const { send, create } = await service(t);
  const [a, b, c] = [await create('/teams'), await create('/teams'), await create('/teams')];
  const home = await create('/matches', { homeTeamId: a, awayTeamId: b });
  const away = await create('/matches', { homeTeamId: c, awayTeamId: a });
  const both = await create('/matches', { homeTeamId: a, awayTeamId: a });
  const idsOf = (records: { id: string }[]) => records.map(({ id }) => id);
  for (const path of ['/teams?', '/api/v2/teams?', '/teams?page=1&']) {
    const { data } = (await send('GET', `${path}include=matches`)).json;
    const included = data.map((team: { _included: { matches: { id: string }[] } }) =>
      idsOf(team._included.matches),
    );
    t.same(included, [[home, away, both], [home], [away]], path);
  }
  for (const mount of ['', '/api/v2']) {
    const { json } = await send('GET', `${mount}/teams/${a}?include=matches`);
    t.same(idsOf(json._included.matches), [home, away, both], `one record at ${mount}/`);
  }
  const { data } = (await send('QUERY', '/matches', { body: { include: ['homeTeam', 'awayTeam'] } })).json;
  t.match(data[0]._included, { homeTeam: { id: a }, awayTeam: { id: b } });
  const many: string[] = [];
  for (let at = 0; at < 15; at++) {
    many.push(await create('/matches', { homeTeamId: b, awayTeamId: c }));
    many.push(await create('/matches', { homeTeamId: c, awayTeamId: b }));
  }
  const [, team] = (await send('GET', '/teams?include=matches&page=1')).json.data;
  const first = [home, ...many].slice(0, 20);
  t.same(idsOf(team._included.matches), first, 'the first of both references');
  const one = (await send('GET', `/teams/${b}?include=matches`)).json;
  t.same(idsOf(one._included.matches), first, 'and of one record');
});

t.test('relations that would have one name have different ones', async (t) => {
  const { send, create } = await service(t);
  const [team, other] = [await create('/teams'), await create('/teams')];
  const outer = await create('/boxes', { owner: team, ownerId: other });
  const inner = await create('/boxes', { boxesId: outer });
  const { data } = (await send('GET', '/boxes?include=boxes,boxesId,owner,ownerId')).json;
  t.match(data[0]._included, {
    boxes: [{ id: inner }],
    boxesId: null,
    owner: { id: team },
    ownerId: { id: other },
  });
  t.match(data[1]._included, { boxes: [], boxesId: { id: outer } });
  const bag = await create('/bags');
  const small = await create('/bags', { bags: bag });
  const bags = (await send('QUERY', '/bags', { body: { include: ['bags', 'bags by bags'] } })).json.data;
  t.match(bags[0]._included, { bags: null, 'bags by bags': [{ id: small }] });
  t.same((await send('GET', `/bags/${bag}?include=bags,bags%20by%20bags`)).json._included, bags[0]._included);
  const document = (await send('GET', '/openapi.json')).json;
  for (const [title, names] of [
    ['Boxe', ['boxesId', 'owner', 'ownerId', 'boxes']],
    ['Bag', ['bags', 'bags by bags']],
    ['Team', ['boxes', 'matches']],
  ] as const)
    t.same(
      Object.keys(document.components.schemas[`${title}Included`].properties).filter(
        (name) => !name.endsWith('.count'),
      ),
      names,
      title,
    );
});

t.test('a reference with one id is a text', (t) => {
  const rows: object[] = [
    { type: 'array', items: { type: 'string' }, 'x-references': 'teams' },
    { type: ['array', 'string'], 'x-references': 'teams' },
    { type: 'integer', 'x-references': 'teams' },
    { type: 'object', 'x-references': 'teams' },
    { allOf: [{ type: 'array' }], 'x-references': 'teams' },
  ];
  for (const field of rows) {
    const folder = declare(t, { 'teams.json': object({}), 'tasks.json': object({ watchers: field }) });
    t.throws(
      () => checkDeclarations(readDeclarations(folder)),
      /tasks.json#\/properties\/watchers.*(must have the type string|has no effect here)/,
      JSON.stringify(field),
    );
  }
  for (const field of [{ 'x-references': 'teams' }, { type: ['string', 'null'], 'x-references': 'teams' }])
    checkDeclarations(
      readDeclarations(declare(t, { 'teams.json': object({}), 'tasks.json': object({ a: field }) })),
    );
  t.end();
});
