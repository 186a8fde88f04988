import type { JsonObject } from '../../src/json.js';
import { callTool, making, openForCallers } from '../support/callers.js';
import { text, withAccess } from '../support/declared.js';
import t, { type Test } from '../support/test.js';

const reference = (to: string): JsonObject => ({ type: 'string', 'x-references': to });
const collection = (properties: JsonObject, fields: readonly string[], more: JsonObject = {}): JsonObject =>
  withAccess(
    properties,
    [
      { can: 'read', where: { state: 'open' }, fields: [...fields] },
      { can: ['create', 'update', 'delete'] },
      { can: 'read', scope: 'staff', where: { state: 'closed' } },
    ],
    { list: 'page', index: ['updated_at'], ...more },
  );

/** A reader reads the title of cards, and the state of boards; the staff reads all fields of closed ones. */
const DECLARATIONS = {
  'boards.json': collection({ name: text, state: text, ownerId: reference('boards') }, ['state']),
  'cards.json': collection(
    {
      title: { ...text, 'x-search': true },
      code: { type: 'string', maxLength: 20, 'x-unique': true, 'x-search': true },
      price: { type: 'number', 'x-index': true },
      tags: { type: 'array', maxItems: 5, items: { type: 'string' }, 'x-index': true },
      state: text,
      boardId: reference('boards'),
    },
    ['title', 'state'],
  ),
  'notes.json': collection({ body: { type: 'string', 'x-search': 'words' }, state: text }, ['state']),
};

async function open(t: Test) {
  const { as } = await openForCallers(t, DECLARATIONS);
  return { reader: await as('ann', 'self'), staff: await as('ann', 'self', 'staff') };
}

/** Requests that name fields, with those that the reader may read of no record. */
const REFUSED: readonly (readonly [method: string, path: string, body: unknown, ...fields: string[]])[] = [
  ['GET', '/cards?page=1&filter[price]=5', undefined, 'price'],
  ['GET', '/cards?page=1&filter[price][gte]=5', undefined, 'price'],
  ['GET', '/cards?page=1&filter[price][null]=true', undefined, 'price'],
  ['GET', '/cards?page=1&filter[tags][has]=a', undefined, 'tags'],
  ['GET', '/cards?page=1&filter[code][contains]=a', undefined, 'code'],
  ['GET', '/cards?page=1&filter[or][0][title]=a&filter[or][1][price]=5', undefined, 'price'],
  ['GET', '/cards?page=1&filter[not][price]=5', undefined, 'price'],
  ['GET', '/cards?page=1&filter[boardId]=01900000-0000-7000-8000-000000000000', undefined, 'boardId'],
  ['GET', '/cards?page=1&filter[board][state]=open', undefined, 'boardId'],
  ['GET', '/boards?page=1&filter[cards][some]=true', undefined, 'boardId'],
  ['GET', '/boards?page=1&filter[boards][none][state]=open', undefined, 'ownerId'],
  ['GET', '/cards?sort=price', undefined, 'price'],
  ['GET', '/cards?sort=price&order=desc', undefined, 'price'],
  ['GET', '/cards?sort=title,-price', undefined, 'price'],
  ['GET', '/cards?sort=board.created_at', undefined, 'boardId'],
  ['GET', '/cards?group=price', undefined, 'price'],
  ['GET', '/cards?group=state&aggregate=count,sum(price)', undefined, 'price'],
  ['GET', '/notes?page=1&search=secret', undefined, 'body'],
  ['GET', '/notes?page=1&search=secret&sort=relevance', undefined, 'body'],
  ['GET', '/api/v2/cards?filter[price]=5', undefined, 'price'],
  ['GET', '/api/v2/cards?sort=-price', undefined, 'price'],
  ['GET', '/api/v2/notes?search=secret', undefined, 'body'],
  ['QUERY', '/cards', { filter: { price: { gt: 1 } } }, 'price'],
  ['QUERY', '/cards', { sort: ['-price'] }, 'price'],
  ['QUERY', '/notes', { search: 'secret', limit: 5 }, 'body'],
  ['GET', '/events?types=cards.*&filter[price]=5', undefined, 'price'],
  ['PATCH', '/cards?filter[price]=5', { title: 'a' }, 'price'],
  ['DELETE', '/cards?filter[price]=5', undefined, 'price'],
  ['PUT', '/cards?filter[code]=a', { title: 'a' }, 'code'],
  ['POST', '/batch', { operations: [{ method: 'GET', path: '/cards?page=1&sort=price' }] }, 'price'],
];

t.test('a filter, order, group and search by a field that no grant shows are 403', async (t) => {
  const { reader, staff } = await open(t);
  for (const [method, path, body, ...fields] of REFUSED) {
    const refused = await reader(method, path, body);
    t.match(refused, { status: 403 }, `${method} ${path} ${refused.text}`);
    const { code, details } = refused.json.error ?? refused.json;
    // A batch says in which operation.
    const named = Array.isArray(details) ? details : details.details;
    t.equal(code, 'FIELDS_DENIED', `${method} ${path}`);
    const expected = fields.map((field) => ({ path: `/${field}` }));
    t.same(named, expected, `${method} ${path}`);
    const { status, text: problem } = await staff(method, path, body);
    // A grant with a condition does not show the boards of all cards.
    t.ok(status < 300 || /sort=board/.test(path), `staff: ${method} ${path} ${problem}`);
  }
  const called = await callTool(reader, 'cards_list', { filter: { price: 5 } });
  t.match(called.json.result.structuredContent, { error: { status: 403, code: 'FIELDS_DENIED' } });
  const exported = await reader('GET', '/cards?filter[price]=5', undefined, { prefer: 'respond-async' });
  t.match(exported, { status: 403, json: { error: { code: 'FIELDS_DENIED' } } });
});

t.test('elsewhere the fields of records decide', async (t) => {
  const { reader, staff } = await open(t);
  for (const state of ['open', 'closed'])
    await making(t, staff)('/cards', { title: `a ${state}`, code: state, price: 5, state });
  const titlesIn = (json: JsonObject) => (json.data as JsonObject[]).map(({ title }) => title);
  for (const [path, ...titles] of [
    ['/cards?page=1&fields=title,price', 'a open'],
    ['/cards?page=1&include=board', 'a open'],
    ['/cards?page=1&search=a', 'a open'],
    ['/cards?page=1&search=closed'],
    ['/cards?page=1&sort=updated_at&filter[_version]=1', 'a open'],
    ['/boards?page=1&include=cards'],
  ] as const) {
    const { status, json, text: body } = await reader('GET', path);
    t.equal(status, 200, `${path} ${body}`);
    t.same(titlesIn(json), titles, path);
    t.notMatch(body, /"price":5/, path);
  }
  // A field that the caller may read of some records is absent from the others.
  t.same(titlesIn((await staff('GET', '/cards?page=1&filter[price]=5')).json), ['a closed']);
});

t.test('columns of CSV and messages are those of the declaration', async (t) => {
  const { reader } = await open(t);
  const { text: csv } = await reader('GET', '/cards', undefined, { accept: 'text/csv' });
  t.equal(csv.split('\r\n')[0], 'id,title,code,price,tags,state,boardId,created_at,updated_at,_version');
  for (const [path, names] of [
    ['/cards?page=1&filter[colour]=5', /price.*boardId/],
    ['/api/v2/cards?sort=colour', /price/],
    ['/cards?group=colour', /price/],
    ['/cards?include=colour', /board/],
  ] as const)
    t.match(await reader('GET', path), { status: 400, text: names }, path);
});

t.test('records are sorted by a related one if a grant shows the field of all records', async (t) => {
  const shown = (grants: readonly JsonObject[]): JsonObject =>
    withAccess({ name: text, hidden: text }, [...grants, { can: 'all', scope: 'staff' }]);
  const { as } = await openForCallers(t, {
    'teams.json': shown([
      { can: 'read', fields: ['name'] },
      { can: 'read', where: { hidden: 'no' } },
    ]),
    'secrets.json': shown([{ can: 'read', where: { name: 'a' } }]),
    'players.json': withAccess(
      { name: text, teamId: reference('teams'), secretId: reference('secrets') },
      [
        { can: 'read', fields: ['name'] },
        { can: 'read', where: { name: { ne: 'masked' } } },
        { can: 'all', scope: 'staff' },
      ],
      { list: 'page' },
      { required: ['teamId'] },
    ),
  });
  const [reader, staff] = [await as('ann', 'self'), await as('bob', 'self', 'staff')];
  const ids = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const team = (await staff('POST', '/teams', { name })).json.id;
      const secret = (await staff('POST', '/secrets', { name })).json.id;
      return { team, secret };
    }),
  );
  for (const [name, at] of [
    ['two', 1],
    ['masked', 0],
    ['three', 2],
    ['one', 0],
  ] as const)
    await staff('POST', '/players', { name, teamId: ids[at]!.team, secretId: ids[at]!.secret });
  const names = ({ json }: { json: { data: { name: string }[] } }) =>
    json.data.map(({ name }) => name).join(' ');
  for (const path of ['/players?page=1', '/api/v2/players?limit=20']) {
    t.equal(names(await staff('GET', `${path}&sort=team.name,name`)), 'masked one two three', path);
    // A hidden reference is none.
    t.equal(names(await reader('GET', `${path}&sort=team.name`)), 'one two three masked', path);
    t.equal(names(await reader('GET', `${path}&sort=-team.name`)), 'three two one masked', path);
    t.equal((await reader('GET', `${path}&sort=team.created_at`)).status, 200, path);
    for (const key of ['team.hidden', 'secret.name', '-secret.name', 'nothing']) {
      const { status, json } = await reader('GET', `${path}&sort=name,${key}`);
      t.same([status, (json.error ?? json).code], [400, 'INVALID_QUERY'], key);
      t.match(json.error?.message ?? json.detail, key.replace('-', ''), 'the message names the key');
    }
  }
});
