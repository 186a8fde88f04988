import { callersOf, callsWith, declaredService, making } from '../support/callers.js';
import { declared, reference, text, withAccess } from '../support/declared.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';

/** Shops lead over their goods to opinions, which have rules, and tags lead to notes, which need a scope; flags lead nowhere. */
const DECLARATIONS = {
  'shops.json': declared({ title: text }, { public: 'read' }),
  'goods.json': declared({ title: text, shopId: reference('shops') }, { public: 'read', nested: 'shopId' }),
  'opinions.json': withAccess(
    { text, goodId: reference('goods'), authorId: text },
    [
      { can: 'read', where: { authorId: '$caller' } },
      { can: 'all', scope: 'staff' },
    ],
    { nested: 'goodId' },
  ),
  'tags.json': declared({ title: text }, { public: 'read' }),
  'notes.json': declared({ text, tagId: reference('tags') }, {}),
  'colours.json': declared({ title: text }, { public: 'read' }),
  'flags.json': declared({ title: text, colourId: reference('colours') }, { public: 'read', nested: true }),
};

async function open(t: Test) {
  const service = await declaredService(t, DECLARATIONS, { AUTH: 'api-key' });
  const as = callersOf(service);
  const callers = {
    stranger: callsWith(service),
    invalid: callsWith(service, { 'x-api-key': `plinth_${'x'.repeat(43)}` }),
    ann: await as('ann', 'self'),
    writer: await as('ann', 'self', 'goods:write', 'shops:write', 'tags:write'),
    reader: await as('rita', 'notes:read'),
    admin: await as('root', 'admin', 'staff'),
  };
  const made = making(t, callers.admin);
  const shopId = await made('/shops', { title: 'Corner' });
  const goodId = await made('/goods', { title: 'Lamp', shopId });
  await made('/goods', { title: 'Chair', shopId });
  await made('/opinions', { text: 'Bright', goodId, authorId: 'ann' });
  await made('/opinions', { text: 'Dim', goodId, authorId: 'bob' });
  const tagId = await made('/tags', { title: 'new' });
  await made('/notes', { text: 'secret', tagId });
  const colourId = await made('/colours', { title: 'red' });
  await made('/flags', { title: 'one', colourId });
  return { service, callers, made, shopId, goodId, tagId, colourId };
}

type Callers = Awaited<ReturnType<typeof open>>['callers'];

t.test('a credential shows more of what a public collection leads to', async (t) => {
  const { callers, shopId, goodId, tagId } = await open(t);
  /** The numbers of opinions or records that a caller finds, or the status of the response. */
  const rows: readonly (readonly [path: string, Readonly<Partial<Record<keyof Callers, number>>>])[] = [
    [`/goods/${goodId}?include=opinions`, { stranger: 0, ann: 1, admin: 2, invalid: 401 }],
    [`/api/v1/goods/${goodId}?include=opinions`, { stranger: 0, ann: 1, admin: 2 }],
    ['/goods?page=1&filter[opinions][some][text][ne]=x', { stranger: 403, ann: 1, admin: 1, invalid: 401 }],
    ['/goods?page=1&filter[opinions][some][text]=Dim', { stranger: 403, ann: 0, admin: 1 }],
    [`/shops/${shopId}/goods?page=1&filter[opinions][some][text]=Dim`, { stranger: 403, ann: 0, admin: 1 }],
    ['/shops?page=1&filter[goods][some][opinions][some][text]=Bright', { stranger: 403, ann: 1, admin: 1 }],
    ['/goods', { stranger: 2, ann: 2, admin: 2, invalid: 401 }],
    [`/tags/${tagId}?include=notes`, { stranger: 403, ann: 403, reader: 1, admin: 1, invalid: 401 }],
    ['/tags?page=1&filter[notes][some][text]=secret', { stranger: 403, ann: 403, reader: 1, admin: 1 }],
    ['/flags', { stranger: 1, ann: 1, admin: 1, invalid: 1 }],
  ];
  for (const [path, expected] of rows)
    for (const [caller, number] of Object.entries(expected)) {
      const { status, json, headers, text: body } = await callers[caller as keyof Callers]('GET', path);
      const { opinions, notes } = json._included ?? {};
      const found = opinions ?? notes ?? json.data ?? json;
      t.equal(status === 200 ? found.length : status, number, `${caller} ${path} ${body.slice(0, 100)}`);
      if (status === 401) t.match(headers['www-authenticate'], /^ApiKey/);
      if (status !== 200 || Array.isArray(json)) continue;
      // A shared cache stores none of these responses, and a private one asks each time.
      t.equal(headers['cache-control'], 'private, no-cache', path);
      t.match(headers.vary, /^Accept/);
    }
});

t.test('lists of a public collection and writes by the same filter find the same records', async (t) => {
  const { callers, made, shopId } = await open(t);
  const goodId = await made('/goods', { title: 'Desk', shopId });
  await made('/opinions', { text: 'Flat', goodId, authorId: 'bob' });
  for (const [opinion, number] of [
    ['Flat', 0],
    ['Bright', 1],
  ] as const) {
    const filter = `filter[opinions][some][text]=${opinion}`;
    t.equal((await callers.writer('GET', `/goods?page=1&${filter}`)).json.meta.total, number, opinion);
    const expected = { status: 200, json: { meta: { matched: number } } };
    t.match(await callers.writer('PATCH', `/goods?${filter}`, { title: 'x' }), expected);
    t.match(await callers.writer('DELETE', `/goods?${filter}`), expected);
  }
});

t.test('the documents say where a credential of a public collection matters', async (t) => {
  const { callers } = await open(t);
  const { paths } = (await callers.admin('GET', '/openapi.json')).json;
  for (const path of words('/shops /shops/{id} /shops/{id}/goods /goods /goods/{id} /tags /tags/{id}')) {
    const { responses, security } = paths[path].get;
    t.ok(responses[401] && responses[403], path);
    t.same(security, [{}, { 'api-key': [] }], path);
  }
  for (const path of ['/colours', '/colours/{id}', '/colours/{id}/flags', '/flags', '/flags/{id}']) {
    const { responses, security } = paths[path].get;
    t.notOk(responses[401] || responses[403], path);
    t.same(security, [], path);
  }
});
