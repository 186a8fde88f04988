import type { JsonObject } from '../../src/json.js';
import { openForCallers } from '../support/callers.js';
import { ADMIN, declared, reference, text, withAccess } from '../support/declared.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const notes = (where: JsonObject): JsonObject =>
  withAccess({ text, roomId: reference('rooms') }, [{ can: 'read', where }, ADMIN]);

const DECLARATIONS = {
  'rooms.json': declared({ confidential: { type: 'boolean', 'x-index': true } }),
  'notes.json': notes({ not: { room: { confidential: true } } }),
  'diaries.json': withAccess(
    { text, roomId: reference('rooms', 'null') },
    [{ can: 'read', where: { not: { room: { confidential: true } } } }, ADMIN],
    { history: true },
  ),
  'letters.json': notes({ blocks: { none: { userName: '$caller' } } }),
  'blocks.json': declared({
    letterId: reference('letters'),
    posterId: reference('posters'),
    userName: text,
    isLifted: { type: 'boolean', 'x-index': true },
  }),
  'posters.json': notes({ or: [{ blocks: { every: { isLifted: true } } }, { text: 'free' }] }),
  'boards.json': withAccess({ text }, [{ can: 'all', to: 'anyone' }]),
  'branches.json': withAccess(
    { text, pin: { type: 'string', default: '1234' }, parentId: reference('branches') },
    [
      { can: ['read', 'create'], where: { parent: { branches: { none: { text: 'last' } } } } },
      { can: ['read', 'create'], fields: ['text', 'parentId'] },
      ADMIN,
    ],
  ),
  'orders.json': {
    type: 'object',
    properties: {
      name: text,
      status: text,
      cost: { type: 'number' },
      remark: { type: 'string' },
      code: { type: 'string', 'x-immutable': true },
    },
    if: { properties: { status: { const: 'closed' } }, required: ['status'] },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
    then: { properties: { cost: { minimum: 50 }, remark: { enum: ['ok', 'fine'] } }, required: ['remark'] },
    'x-collection': {
      access: [
        { can: 'read', fields: ['name', 'status'] },
        { can: 'update', fields: ['name', 'status', 'code'] },
        ADMIN,
      ],
    },
  },
};

async function open(t: Test) {
  const { service, as, admin: operator, made } = await openForCallers(t, DECLARATIONS);
  const names = ['notes', 'diaries', 'letters', 'posters', 'orders', 'branches'];
  const scopes = [...names.map((name) => `${name}:read`), 'orders:write', 'branches:write', 'events:read'];
  return { service, caller: as, operator, ann: await as('ann', ...scopes, 'self'), made };
}

t.test('the deletion of a related record reveals no event of the records that it hid', async (t) => {
  const { operator, ann, made } = await open(t);
  const [hiding, showing] = [
    await made('/rooms', { confidential: true }),
    await made('/rooms', { confidential: false }),
  ];
  await made('/notes', { text: 'in the hiding room', roomId: hiding });
  await made('/notes', { text: 'in the open room', roomId: showing });
  await made('/notes', { text: 'in no room' });
  const letters = [
    await made('/letters', { text: 'to others' }),
    await made('/letters', { text: 'to all' }),
    await made('/letters', { text: 'of today' }),
  ];
  await made('/blocks', { letterId: letters[0]!, userName: 'ann' });
  await made('/blocks', { letterId: letters[1]!, userName: 'bob' });
  const posters = [await made('/posters', { text: 'hung' }), await made('/posters', { text: 'free' })];
  for (const posterId of posters) await made('/blocks', { posterId, isLifted: false });
  const seen = async (count: number) => {
    await operator('POST', '/orders', { name: 'the last event' });
    const query = '/events?types=notes.*,letters.*,posters.*,orders.created';
    const found = await until(
      'the last event is final',
      async () => (await ann('GET', query)).json.data as { type: string; data?: { text?: string } }[],
      (events) => events.filter(({ type }) => type === 'orders.created').length === count,
    );
    return found
      .filter(({ type }) => type !== 'orders.created')
      .map(({ type, data }) => `${type} ${data?.text}`);
  };
  t.same(await seen(1), [
    'notes.created in the open room',
    'notes.created in no room',
    'letters.created to all',
    'letters.created of today',
    'posters.created free',
  ]);
  const gone = [`rooms/${hiding}`, `rooms/${showing}`, `letters/${letters[0]}`, `letters/${letters[1]}`];
  for (const path of [...gone, ...posters.map((id) => `posters/${id}`)])
    t.equal((await operator('DELETE', `/${path}`)).status, 204);
  t.same(await seen(2), [
    'notes.created in no room',
    'letters.created of today',
    'posters.created free',
    'posters.deleted undefined',
  ]);
});

t.test('the deletion of a related record reveals no former state of the records that it hid', async (t) => {
  const { operator, ann, made } = await open(t);
  const room = await made('/rooms', { confidential: true });
  const id = await made('/diaries', { text: 'in the hiding room', roomId: room });
  await operator('PATCH', `/diaries/${id}`, { text: 'still there' });
  t.equal((await operator('DELETE', `/rooms/${room}`)).status, 204);
  await operator('PATCH', `/diaries/${id}`, { text: 'in the open' });
  const read = async (by: typeof ann, texts: RegExp, unseen: RegExp) => {
    const response = await by('GET', `/diaries/${id}/history`);
    t.equal(response.status, 200, response.text);
    t.match(response.text, texts);
    t.notMatch(response.text, unseen);
  };
  await read(operator, /in the hiding room/, /nothing/);
  await read(ann, /in the open/, /in the hiding room/);
});

t.test('failures of fields that a caller may not read name neither the fields nor their rules', async (t) => {
  const { operator, ann, made } = await open(t);
  const path = `/orders/${await made('/orders', { name: 'a', cost: 10, remark: 'bad', code: 'PIN-1' })}`;
  const hidden = {
    path: '',
    message: 'must fit the fields of the record that you may not read',
    keyword: 'hidden',
  };
  for (const [method, body] of [
    ['PATCH', { status: 'closed' }],
    ['PUT', { name: 'a', status: 'closed' }],
  ] as const) {
    const refused = await ann(method, path, body);
    t.match(refused, { status: 400, json: { errors: [hidden] } }, method);
    t.notMatch(JSON.stringify(refused.json.errors), /cost|remark|50|fine/);
  }
  const { status, json } = await ann('PATCH', path, { status: 'closed', name: 7 });
  t.match([status, json.errors], [400, [{ path: '/name', keyword: 'type' }, hidden]]);
  const { errors } = (await operator('PATCH', path, { status: 'closed' })).json;
  t.match(errors, [{ path: '/cost' }, { path: '/remark' }]);
  await operator('PATCH', path, { cost: 60, remark: 'ok' });
  t.equal((await ann('PATCH', path, { status: 'closed' })).status, 200);
});

t.test('the creation of a record that hides a part of itself does not show that part', async (t) => {
  const { ann, made } = await open(t);
  const parentId = await made('/branches', { text: 'trunk' });
  const first = await ann('POST', '/branches', { text: 'first', parentId });
  t.match(first, { status: 201, json: { pin: '1234' } });
  const created = await ann('POST', '/branches', { text: 'last', parentId });
  t.match(created, { status: 201, json: { text: 'last', pin: undefined } });
  t.same(created.json, (await ann('GET', `/branches/${created.json.id}`)).json);
});

t.test('an immutable field that a caller may not read cannot be guessed', async (t) => {
  const { operator, ann, made } = await open(t);
  const path = `/orders/${await made('/orders', { name: 'a', code: 'PIN-1' })}`;
  for (const code of ['PIN-1', 'PIN-2'])
    for (const [method, body] of [
      ['PATCH', { code }],
      ['PUT', { name: 'a', code }],
    ] as const) {
      const refused = await ann(method, path, body);
      t.match(refused, { status: 403, json: { error: { code: 'FIELDS_DENIED' } } }, `${method} ${code}`);
    }
  t.match((await operator('GET', path)).json, { code: 'PIN-1', _version: 1 });
});

t.test('a subject called anonymous is none of the callers without a credential', async (t) => {
  const { service, caller } = await open(t);
  const named = await caller('anonymous', 'boards:write', 'boards:read');
  const headers = { 'Idempotency-Key': 'a-key-of-a-stranger' };
  const first = await service.send('POST', '/boards', { body: { text: 'a' }, headers });
  t.equal(first.status, 201, first.text);
  const second = await named('POST', '/boards', { text: 'a' }, headers);
  t.match(second, { status: 201, headers: { 'idempotency-replayed': undefined } });
  t.not(second.json.id, first.json.id);
  const again = await service.send('POST', '/boards', { body: { text: 'a' }, headers });
  t.match(again, { status: 201, json: { id: first.json.id }, headers: { 'idempotency-replayed': 'true' } });
});
