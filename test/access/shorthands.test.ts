import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { resourcesWithoutRefs } from '../../src/declarations/resource-of.js';
import type { JsonObject } from '../../src/json.js';
import { readGrant, symbolsIn } from '../../src/policy/policy.js';
import { declaredService } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const text: JsonObject = { type: 'string', 'x-index': true };
const author: JsonObject = { type: 'string', 'x-references': 'users', 'x-on-delete': 'cascade' };
const book: JsonObject = { type: 'string', 'x-references': 'books', 'x-on-delete': 'cascade' };
const PROPERTIES: Readonly<Record<string, JsonObject>> = {
  users: {},
  books: { title: text },
  notices: { title: text },
  letters: { title: text, userId: author },
  chapters: { title: text, bookId: book },
};
const NESTED: Readonly<Record<string, JsonObject>> = {
  letters: { nested: 'userId' },
  chapters: { nested: 'bookId' },
};

/** The grants that docs/access.md says to be equal to the options of each collection. */
const scoped = (name: string): JsonObject[] => [
  { can: 'read', scope: `${name}:read` },
  { can: 'all', scope: `${name}:write` },
];
const GRANTS: Readonly<Record<string, readonly JsonObject[]>> = {
  users: [...scoped('users'), { can: ['read', 'update', 'delete'], where: { id: '$caller' } }],
  books: scoped('books'),
  notices: [
    { can: 'read', to: 'anyone' },
    { can: 'all', scope: 'notices:write' },
  ],
  letters: [...scoped('letters'), { can: 'all', where: { userId: '$caller' } }],
  chapters: scoped('chapters'),
};

const declared = (optionsOf: (name: string) => object) =>
  Object.fromEntries(
    Object.entries(PROPERTIES).map(([name, properties]) => [
      `${name}.json`,
      { type: 'object', properties, 'x-collection': { ...NESTED[name], ...optionsOf(name) } },
    ]),
  );

/** Whether each request of each caller is permitted, with the ids of lists by their names. */
async function outcomesOf(t: Test, declarations: Readonly<Record<string, unknown>>): Promise<string[]> {
  const service = await declaredService(t, declarations as never, { AUTH: 'api-key' });
  const as = (key?: string) => (method: string, path: string, body?: unknown) =>
    service.send(method, path, { body, headers: key === undefined ? {} : { 'x-api-key': key } } as never);
  const operator = as((await makeKey(service.db)).key);
  const made = async (path: string, body: JsonObject): Promise<string> => {
    const { status, json, text } = await operator('POST', path, body);
    t.equal(status, 201, text);
    return json.id;
  };
  let count = 0;
  const user = (name: string) => made('/users', { name, email: `${name}${++count}@example.org` });
  const [ann, bob] = [await user('ann'), await user('bob')];
  const [bookId, notice] = [await made('/books', { title: 'a' }), await made('/notices', { title: 'a' })];
  const [own, other] = [
    await made('/letters', { title: 'a', userId: ann }),
    await made('/letters', { title: 'b', userId: bob }),
  ];
  const chapter = await made('/chapters', { title: 'a', bookId });
  const names = Object.keys(PROPERTIES);
  const key = async (subject: string, scopes: readonly string[]) =>
    as((await makeKey(service.db, { subject, scopes: [...scopes] } as never)).key);
  const callers = {
    stranger: as(),
    ann: await key(ann, ['self']),
    deleting: await key(ann, ['self', 'self:delete']),
    reader: await key(
      'reader',
      names.map((name) => `${name}:read`),
    ),
    writer: await key(
      'writer',
      names.map((name) => `${name}:write`),
    ),
    books: await key('books', ['books:read', 'chapters:write']),
    admin: operator,
  };
  const outcomes: string[] = [];
  for (const [name, call] of Object.entries(callers)) {
    const hasScopes = name !== 'ann' && name !== 'deleting';
    const requests: [method: string, path: string | (() => Promise<string>), body?: JsonObject][] = [
      ...[
        `/users/${ann}`,
        `/users/${bob}`,
        `/books/${bookId}`,
        `/notices/${notice}`,
        `/letters/${own}`,
        `/letters/${other}`,
        `/chapters/${chapter}`,
      ].flatMap((path): [string, string, JsonObject?][] => [
        ['GET', path],
        ['PATCH', path, path.startsWith('/users/') ? { name: 'Renamed' } : { title: 'x' }],
      ]),
      ['POST', '/books', { title: 'b' }],
      ['POST', '/notices', { title: 'b' }],
      ['POST', '/letters', { title: 'b', userId: ann }],
      ['POST', '/letters', { title: 'b', userId: bob }],
      ['POST', `/books/${bookId}/chapters`, { title: 'b' }],
      ['GET', `/books/${bookId}/chapters`],
      ['GET', '/notices'],
      ...(hasScopes
        ? (['/users', '/books', '/letters', '/chapters'].map((path) => ['GET', path]) as [string, string][])
        : []),
      ...[ann, bob].flatMap((id): [string, string, JsonObject?][] => [
        ['GET', `/users/${id}/letters`],
        ['POST', `/users/${id}/letters`, { title: 'c' }],
      ]),
      ['PATCH', '/letters?filter[title][ne]=none', { title: 'd' }],
      ['DELETE', '/letters?filter[title]=none'],
      // The caller's own user has no list.
      ...(hasScopes
        ? ([['PATCH', '/users?filter[email][prefix]=ann', { age: 40 }]] as [string, string, JsonObject][])
        : []),
      ['DELETE', async () => `/books/${await made('/books', { title: 'c' })}`],
      ['DELETE', async () => `/letters/${await made('/letters', { title: 'c', userId: ann })}`],
      ['DELETE', async () => `/users/${await user('eve')}`],
    ];
    for (const [place, [method, path, body]] of requests.entries()) {
      const target = typeof path === 'string' ? path : await path();
      const { status } = await call(method, target, body);
      t.ok(status < 500);
      // With rules, a record that the caller may not read is as one that does not exist: 204, and it remains.
      const isDone = status < 400 && (method !== 'DELETE' || (await operator('GET', target)).status === 404);
      outcomes.push(`${name} ${place} ${method}: ${isDone ? 'permitted' : 'refused'}`);
    }
  }
  const gone = await callers.deleting('DELETE', `/users/${ann}`);
  return [...outcomes, `own account: ${gone.status}`];
}

t.test('shorthands permit what the grants permit that the documentation names', async (t) => {
  const shorthands = await outcomesOf(
    t,
    declared((name) => (name === 'notices' ? { public: 'read' } : {})),
  );
  const grants = await outcomesOf(
    t,
    declared((name) => ({ access: GRANTS[name] })),
  );
  t.same(shorthands, grants);
  const permitted = shorthands.filter((each) => each.endsWith('permitted')).length;
  t.ok(
    permitted > 40 && permitted < shorthands.length - 40,
    `${permitted} of ${shorthands.length} are permitted`,
  );
});

t.test('shorthands are loaded as the grants that the documentation names', (t) => {
  const declarations = declared((name) => (name === 'notices' ? { public: 'read' } : {}));
  // A field with the name of a combination of conditions.
  const combined = { type: 'object', properties: { or: author }, 'x-collection': { nested: 'or' } };
  const folder = declare(t, { ...declarations, 'words.json': combined } as never);
  const resources = resourcesWithoutRefs(readDeclarations(folder).collections);
  const expected = {
    ...GRANTS,
    words: [...scoped('words'), { can: 'all', where: { '\\or': '$caller' } }],
  };
  t.same(Object.fromEntries(resources.map(({ name, grants }) => [name, grants])), expected);
  for (const resource of resources)
    for (const [place, grant] of resource.grants.entries()) {
      const { conditions } = readGrant(grant, place, resource, resources);
      t.equal(symbolsIn(conditions).length, grant.where ? 1 : 0, `${resource.name} ${place}`);
    }
  t.end();
});

t.test('users below another collection change their own records', async (t) => {
  const teams = { type: 'object', properties: { title: text } };
  const team = { type: 'string', 'x-references': 'teams', 'x-on-delete': 'cascade' };
  const users = { type: 'object', properties: { teamId: team }, 'x-collection': { nested: 'teamId' } };
  const service = await declaredService(t, { 'teams.json': teams, 'users.json': users } as never, {
    AUTH: 'api-key',
  });
  const as = (key: string) => (method: string, path: string, body: unknown) =>
    service.send(method, path, { body, headers: { 'x-api-key': key } } as never);
  const operator = as((await makeKey(service.db)).key);
  const { id: teamId } = (await operator('POST', '/teams', { title: 'a' })).json;
  const { id } = (await operator('POST', '/users', { name: 'Ann', email: 'ann@example.org', teamId })).json;
  const own = as((await makeKey(service.db, { subject: id, scopes: ['self'] } as never)).key);
  const renamed = await own('PATCH', `/users/${id}`, { name: 'Anna' });
  t.equal(renamed.status, 200, renamed.text);
  t.match(renamed.json, { name: 'Anna', teamId });
  t.equal((await own('POST', '/users', { name: 'Eve', email: 'eve@example.org', teamId })).status, 403);
});

t.test('users below users change their own records, and neither read nor create others', async (t) => {
  const manager = { type: 'string', 'x-references': 'users', 'x-on-delete': 'restrict' };
  const users = {
    type: 'object',
    properties: { managerId: manager },
    'x-collection': { nested: 'managerId' },
  };
  const service = await declaredService(t, { 'users.json': users } as never, { AUTH: 'api-key' });
  const as = (key: string) => (method: string, path: string, body?: unknown) =>
    service.send(method, path, { body, headers: { 'x-api-key': key } } as never);
  const operator = as((await makeKey(service.db)).key);
  const ann = (await operator('POST', '/users', { name: 'Ann', email: 'ann@example.org' })).json.id;
  const below = { name: 'Bob', email: 'bob@example.org' };
  const created = await operator('POST', `/users/${ann}/users`, below);
  t.equal(created.status, 201, created.text);
  const bob = created.json.id;
  const own = as((await makeKey(service.db, { subject: ann, scopes: ['self'] } as never)).key);
  const writer = as((await makeKey(service.db, { subject: 'w', scopes: ['users:write'] } as never)).key);
  const eve = { name: 'Eve', email: 'eve@example.org' };
  const rows: readonly (readonly [method: string, path: string, body: object | undefined, status: number])[] =
    [
      ['GET', `/users/${ann}`, undefined, 200],
      ['PATCH', `/users/${ann}`, { age: 40 }, 200],
      ['GET', `/users/${bob}`, undefined, 403],
      ['PATCH', `/users/${bob}`, { age: 40 }, 403],
      ['GET', `/users/${ann}/users`, undefined, 403],
      ['GET', `/users/${bob}/users`, undefined, 403],
      ['POST', `/users/${ann}/users`, eve, 403],
      ['POST', '/users', { ...eve, managerId: ann }, 403],
      ['GET', '/users', undefined, 403],
    ];
  for (const [method, path, body, status] of rows) {
    const reply = await own(method, path, body);
    t.equal(reply.status, status, `${method} ${path} ${reply.text}`);
    if (status === 403) t.equal(reply.json.error.code, 'INSUFFICIENT_SCOPE');
  }
  t.equal((await writer('GET', `/users/${ann}/users`)).json.length, 1);
  t.equal((await writer('POST', `/users/${ann}/users`, eve)).status, 201);
});

t.test('a write of all records that match a filter changes those of the caller alone', async (t) => {
  const service = await testService(t, {
    AUTH: 'api-key',
    COLLECTIONS: declare(t, declared(() => ({})) as never),
    DATABASE_URL: await undeclaredDatabase(t),
  });
  const as =
    (key: string) =>
    (method: string, path: string, body?: unknown, headers = {}) =>
      service.send(method, path, { body, headers: { 'x-api-key': key, ...headers } } as never);
  const operator = as((await makeKey(service.db)).key);
  const user = async (name: string): Promise<string> =>
    (await operator('POST', '/users', { name, email: `${name}@example.org` })).json.id;
  const [ann, bob] = [await user('ann'), await user('bob')];
  for (const userId of [ann, ann, bob]) await operator('POST', '/letters', { title: 'a', userId });
  const scopes = [['self'], ['self', 'users:read']];
  const titles = async () =>
    (await operator('GET', '/letters')).json
      .map(({ title, userId }: JsonObject) => `${userId === ann ? 'ann' : 'bob'} ${title}`)
      .sort()
      .join();
  for (const [at, each] of scopes.entries()) {
    const own = as((await makeKey(service.db, { subject: ann, scopes: each } as never)).key);
    const [before, after, late] = at === 0 ? ['a', 'b0', 'c0'] : [`c${at - 1}`, `b${at}`, `c${at}`];
    const changed = await own('PATCH', '/letters?filter[title][ne]=none', { title: after });
    t.match(changed, { status: 200, json: { meta: { matched: 2 } } }, `${each.join()} ${changed.text}`);
    t.equal(await titles(), `ann ${after},ann ${after},bob a`, `after ${before}`);
    const taken = await own('PATCH', '/letters?filter[title][ne]=none', { userId: bob });
    const [status, code] = at === 0 ? [422, 'USER_NOT_FOUND'] : [403, 'ACCESS_DENIED'];
    t.match(taken, { status, json: { error: { code } } });
    const again = await own('PATCH', '/letters?filter[title][ne]=none', { title: late });
    t.match(again.json.meta, { matched: 2 });
    t.equal(await titles(), `ann ${late},ann ${late},bob a`);
  }
  const client = as((await makeKey(service.db, { subject: 'a client', scopes: ['self'] } as never)).key);
  const none = await client('PATCH', '/letters?filter[title][ne]=none', { title: 'x' });
  t.match(none, { status: 200, json: { meta: { matched: 0 } } });
  const reader = as(
    (await makeKey(service.db, { subject: ann, scopes: ['self', 'letters:read'] } as never)).key,
  );
  t.match(await reader('PATCH', '/letters?filter[title][ne]=none', { title: 'x' }), {
    status: 403,
    json: { error: { code: 'ACCESS_DENIED' } },
  });
  const own = as((await makeKey(service.db, { subject: ann, scopes: ['self'] } as never)).key);
  t.equal((await own('PATCH', '/users?filter[name]=ann', { age: 40 })).status, 403);
  t.equal((await own('PATCH', '/books?filter[title]=a', { title: 'x' })).status, 403);
  t.match(await own('DELETE', '/letters?filter[title][ne]=none'), { json: { meta: { matched: 2 } } });
  t.equal(await titles(), 'bob a');
});

t.test('records with rules below the own record of a caller are those that the rules permit', async (t) => {
  const options = {
    nested: 'userId',
    access: [{ can: 'all', where: { userId: '$caller', title: { ne: 'hidden' } } }],
  };
  const service = await testService(t, {
    AUTH: 'api-key',
    COLLECTIONS: declare(t, {
      'plans.json': { type: 'object', properties: { title: text, userId: author }, 'x-collection': options },
    } as never),
    DATABASE_URL: await undeclaredDatabase(t),
  });
  const as = (key: string) => (method: string, path: string, body?: unknown) =>
    service.send(method, path, { body, headers: { 'x-api-key': key } } as never);
  const operator = as((await makeKey(service.db)).key);
  const user = async (name: string): Promise<string> =>
    (await operator('POST', '/users', { name, email: `${name}@example.org` })).json.id;
  const [ann, bob] = [await user('ann'), await user('bob')];
  const callers = Object.fromEntries(
    await Promise.all(
      Object.entries({ self: ['self'], reader: ['plans:read', 'users:read'], plans: ['plans:write'] }).map(
        async ([name, scopes]) =>
          [name, as((await makeKey(service.db, { subject: ann, scopes } as never)).key)] as const,
      ),
    ),
  );
  const { self, reader, plans } = callers;
  const made = await self!('POST', `/users/${ann}/plans`, { title: 'a' });
  t.match(made, { status: 201, json: { userId: ann } }, made.text);
  t.match(await self!('POST', `/users/${ann}/plans`, { title: 'hidden' }), {
    status: 403,
    json: { error: { code: 'ACCESS_DENIED' } },
  });
  t.match((await self!('GET', `/users/${ann}`)).json._links.plans, { href: `/users/${ann}/plans` });
  for (const path of ['/plans', `/users/${ann}/plans`])
    t.same(
      (await self!('GET', path)).json.map(({ title }: JsonObject) => title),
      ['a'],
      path,
    );
  t.match(await self!('QUERY', `/users/${ann}/plans`, { page: 1 }), {
    status: 200,
    json: { meta: { total: 1 } },
  });
  t.equal((await reader!('GET', `/users/${ann}/plans`)).json.length, 1);
  t.same((await reader!('GET', `/users/${bob}/plans`)).json, []);
  // Whether a user exists is not revealed, and neither is that a scope would be enough.
  const absent = bob.replace(/.$/, bob.endsWith('0') ? '1' : '0');
  for (const [call, path] of [
    [self!, `/users/${bob}/plans`],
    [self!, `/users/${absent}/plans`],
    [plans!, `/users/${ann}/plans`],
  ] as const)
    for (const [method, body] of [['GET'], ['POST', { title: 'b' }]] as const)
      t.match(
        await call(method, path, body),
        { status: 403, json: { error: { code: 'INSUFFICIENT_SCOPE' } } },
        path,
      );
});
