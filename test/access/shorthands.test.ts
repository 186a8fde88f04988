import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { resourcesWithoutRefs } from '../../src/declarations/resource-of.js';
import type { JsonObject } from '../../src/json.js';
import { readGrant, symbolsIn } from '../../src/policy/policy.js';
import { openForCallers } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { declared, reference, text, withAccess } from '../support/declared.js';
import t, { type Test } from '../support/test.js';

const author = reference('users');
const DECLARATIONS = {
  'users.json': declared({}, {}),
  'books.json': declared({ title: text }, {}),
  'notices.json': declared({ title: text }, { public: 'read' }),
  'letters.json': declared({ title: text, userId: author }, { nested: 'userId' }),
  'chapters.json': declared({ title: text, bookId: reference('books') }, { nested: 'bookId' }),
  // A field with the name of a combination of conditions.
  'words.json': declared({ or: author }, { nested: 'or' }),
};

/** The grants that docs/access.md says to be equal to the options of each collection. */
const scoped = (name: string): JsonObject[] => [
  { can: 'read', scope: `${name}:read` },
  { can: 'all', scope: `${name}:write` },
];
const GRANTS: Readonly<Record<string, readonly JsonObject[]>> = {
  users: [...scoped('users'), { can: ['read', 'update', 'delete'], where: { id: '$caller' } }],
  books: scoped('books'),
  notices: [{ can: 'read', to: 'anyone' }, scoped('notices')[1]!],
  letters: [...scoped('letters'), { can: 'all', where: { userId: '$caller' } }],
  chapters: scoped('chapters'),
  words: [...scoped('words'), { can: 'all', where: { '\\or': '$caller' } }],
};

/** A service, and users. */
async function open(t: Test, declarations: Readonly<Record<string, JsonObject>>) {
  const opened = await openForCallers(t, declarations);
  const user = (name: string, more: JsonObject = {}) =>
    opened.made('/users', { name, email: `${name}@example.org`, ...more });
  return { ...opened, user };
}

t.test('shorthands are loaded as the grants that the documentation names', (t) => {
  const resources = resourcesWithoutRefs(readDeclarations(declare(t, DECLARATIONS)).collections);
  t.same(Object.fromEntries(resources.map(({ name, grants }) => [name, grants])), GRANTS);
  for (const resource of resources)
    for (const [place, grant] of resource.grants.entries()) {
      const { conditions } = readGrant(grant, place, resource, resources);
      t.equal(symbolsIn(conditions).length, grant.where ? 1 : 0, `${resource.name} ${place}`);
    }
  t.end();
});

t.test('users below another collection change their own records', async (t) => {
  const { as, made, user } = await open(t, {
    'teams.json': declared({ title: text }),
    'users.json': declared({ teamId: reference('teams') }, { nested: 'teamId' }),
  });
  const teamId = await made('/teams', { title: 'a' });
  const id = await user('ann', { teamId });
  const own = await as(id, 'self');
  t.match(await own('PATCH', `/users/${id}`, { name: 'Anna' }), {
    status: 200,
    json: { name: 'Anna', teamId },
  });
  t.equal((await own('POST', '/users', { name: 'Eve', email: 'eve@example.org', teamId })).status, 403);
});

t.test('users below users change their own records, and neither read nor create others', async (t) => {
  const managerId = reference('users', 'restrict');
  const { as, made, user } = await open(t, {
    'users.json': declared({ managerId }, { nested: 'managerId' }),
  });
  const ann = await user('ann');
  const bob = await made(`/users/${ann}/users`, { name: 'Bob', email: 'bob@example.org' });
  const [own, writer] = [await as(ann, 'self'), await as('w', 'users:write')];
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
  const { as, admin, made, user } = await open(t, DECLARATIONS);
  const [ann, bob] = [await user('ann'), await user('bob')];
  for (const userId of [ann, ann, bob]) await made('/letters', { title: 'a', userId });
  const titles = async () =>
    (await admin('GET', '/letters')).json
      .map(({ title, userId }: JsonObject) => `${userId === ann ? 'ann' : 'bob'} ${title}`)
      .sort()
      .join();
  const all = '/letters?filter[title][ne]=none';
  for (const [at, scopes] of [['self'], ['self', 'users:read']].entries()) {
    const own = await as(ann, ...scopes);
    const changed = await own('PATCH', all, { title: `b${at}` });
    t.match(changed, { status: 200, json: { meta: { matched: 2 } } }, `${scopes.join()} ${changed.text}`);
    t.equal(await titles(), `ann b${at},ann b${at},bob a`);
    const [status, code] = at === 0 ? [422, 'USER_NOT_FOUND'] : [403, 'ACCESS_DENIED'];
    t.match(await own('PATCH', all, { userId: bob }), { status, json: { error: { code } } });
    t.match((await own('PATCH', all, { title: `c${at}` })).json.meta, { matched: 2 });
    t.equal(await titles(), `ann c${at},ann c${at},bob a`);
  }
  const none = await (await as('a client', 'self'))('PATCH', all, { title: 'x' });
  t.match(none, { status: 200, json: { meta: { matched: 0 } } });
  const refused = await (await as(ann, 'self', 'letters:read'))('PATCH', all, { title: 'x' });
  t.match(refused, { status: 403, json: { error: { code: 'ACCESS_DENIED' } } });
  const own = await as(ann, 'self');
  t.equal((await own('PATCH', '/users?filter[name]=ann', { age: 40 })).status, 403);
  t.equal((await own('PATCH', '/books?filter[title]=a', { title: 'x' })).status, 403);
  t.match(await own('DELETE', all), { json: { meta: { matched: 2 } } });
  t.equal(await titles(), 'bob a');
});

t.test('records with rules below the own record of a caller are those that the rules permit', async (t) => {
  const access = [{ can: 'all', where: { userId: '$caller', title: { ne: 'hidden' } } }];
  const plans = withAccess({ title: text, userId: author }, access, { nested: 'userId' });
  const { as, user } = await open(t, { 'plans.json': plans });
  const [ann, bob] = [await user('ann'), await user('bob')];
  const [self, reader] = [await as(ann, 'self'), await as(ann, 'plans:read', 'users:read')];
  const made = await self('POST', `/users/${ann}/plans`, { title: 'a' });
  t.match(made, { status: 201, json: { userId: ann } }, made.text);
  const refused = await self('POST', `/users/${ann}/plans`, { title: 'hidden' });
  t.match(refused, { status: 403, json: { error: { code: 'ACCESS_DENIED' } } });
  t.match((await self('GET', `/users/${ann}`)).json._links.plans, { href: `/users/${ann}/plans` });
  for (const path of ['/plans', `/users/${ann}/plans`]) {
    const { json } = await self('GET', path);
    t.match([json.length, json[0]], [1, { title: 'a' }], path);
  }
  const page = await self('QUERY', `/users/${ann}/plans`, { page: 1 });
  t.match(page, { status: 200, json: { meta: { total: 1 } } });
  t.equal((await reader('GET', `/users/${ann}/plans`)).json.length, 1);
  t.same((await reader('GET', `/users/${bob}/plans`)).json, []);
  // Whether a user exists is not revealed, and neither is that a scope would be enough.
  const absent = bob.replace(/.$/, bob.endsWith('0') ? '1' : '0');
  for (const [call, path] of [
    [self, `/users/${bob}/plans`],
    [self, `/users/${absent}/plans`],
    [await as(ann, 'plans:write'), `/users/${ann}/plans`],
  ] as const)
    for (const [method, body] of [['GET'], ['POST', { title: 'b' }]] as const) {
      const found = await call(method, path, body);
      t.match(found, { status: 403, json: { error: { code: 'INSUFFICIENT_SCOPE' } } }, path);
    }
});
