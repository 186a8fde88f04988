import type { OpenEndpoint } from '../../src/http/router.js';
import { makeKey } from '../support/credentials.js';
import { type SendOptions, testService, withoutRequestId } from '../support/service.js';
import { sign } from '../support/signed.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';

const SECRET = 'a secret of more than thirty-two characters ';
const CHALLENGE = /^Bearer realm="plinth", error="insufficient_scope", scope="[^"]+"$/;
const ABSENT = '01900000-0000-7000-8000-000000000000';

/** The callers: the subject and the scopes of each. */
type Callers = Record<string, { readonly subject?: string; readonly scopes: readonly string[] }>;

const NAMES = ['users', 'items', 'posts'].flatMap((name) => [`${name}:read`, `${name}:write`]);
const SCOPES: Callers = {
  nothing: { scopes: [] },
  ...Object.fromEntries([...NAMES, 'events:read', 'admin'].map((scope) => [scope, { scopes: [scope] }])),
  'posts:write users:read': { scopes: ['posts:write', 'users:read'] },
};

/** A service with two users and a post of each, and a way to send requests as a chosen caller. */
async function setup(t: Test) {
  const open = await testService(t, { AUTH: 'none' });
  const user = async (name: string) => {
    const body = { email: `${name}@example.org`, name };
    return (await open.send('POST', '/users', { body })).json.id as string;
  };
  const [ada, eve] = [await user('ada'), await user('eve')];
  const post = async (userId: string) =>
    (await open.send('POST', '/posts', { body: { userId, title: 'mine' } })).json.id as string;
  const ids = { ada, eve, adasPost: await post(ada), evesPost: await post(eve) };
  const item = (await open.send('POST', '/items', { body: { name: 'lamp' } })).json.id as string;
  const callers: Callers = {
    ...SCOPES,
    ada: { subject: ada, scopes: ['self'] },
    leaving: { subject: ada, scopes: ['self:delete'] },
    client: { subject: 'a client', scopes: ['self'] },
  };
  const secrets = Object.entries(callers).map(([id, { subject = id, scopes }]) => ({
    ...{ id, secret: SECRET + id, subject, scopes },
  }));
  const service = await testService(t, {
    DATABASE_URL: open.databaseUrl,
    AUTH: 'signature, bearer, api-key',
    ISSUER: 'http://127.0.0.1:1',
    AUDIENCE: 'nobody',
    AUTH_FAILURES: '0',
    SIGNING_SECRETS: JSON.stringify(secrets),
  });
  let requests = 0;
  /** Each request has an address of its own, since a signature is accepted once. */
  const as = (caller: string, method: string, path: string, options: SendOptions = {}) => {
    const body = options.body === undefined ? '' : JSON.stringify(options.body);
    const unique = `${path}${path.includes('?') ? '&' : '?'}_n=${requests++}`;
    const headers = { ...options.headers, ...sign(caller, SECRET + caller, method, unique, body) };
    return service.send(method, unique, { ...options, headers });
  };
  return { ...service, open, as, ids, item };
}

/** The meaning of an endpoint's requirement, in a test's own words. */
function mayUse({ requires: needs }: OpenEndpoint, scopes: readonly string[]): boolean {
  if (typeof needs === 'string' || scopes.includes('admin')) return true;
  return needs.scopes.every(
    (scope) => scopes.includes(scope) || scopes.includes(scope.replace(':read', ':write')),
  );
}

t.test('every route and method, by what the credential permits', async (t) => {
  const { send, as, routes, ids, item, db } = await setup(t);
  const { id, key: expired } = await makeKey(db);
  await db.run("update credentials set expires_at = now() - interval '1 second' where id = $1", [id]);
  const always = ['nothing', 'admin'];
  const others = Object.keys(SCOPES).filter((caller) => !always.includes(caller));
  const callers = [...always, ...some(others, 2)];
  const existing: Record<string, string> = { users: ids.eve, items: item, posts: ids.evesPost };
  for (const { path: template, actions } of routes) {
    const path = template.replace(':code', 'NOT_FOUND').replace(':asset', 'app.js');
    const collection = path.split('/')[1]!;
    for (const [method, endpoint] of Object.entries(actions)) {
      const at = (id: string) => path.replace(':id', id) + (endpoint.requiresFilter ? '?filter=x' : '');
      const [there, absent] = [at(existing[collection] ?? ABSENT), at(ABSENT)];
      for (const address of some([there, `/api/v1${there}`], 1)) {
        const credentials = [{}, { authorization: 'Digest username="x"' }, { 'x-api-key': expired }];
        const statuses: number[] = [];
        for (const headers of credentials) statuses.push((await send(method, address, { headers })).status);
        const { requires } = endpoint;
        // The first request has no credential.
        const wanted =
          requires === 'nothing' ? [200, 200, 200] : [requires === 'optional' ? 200 : 401, 401, 401];
        t.same(statuses, wanted, `${method} ${address} with no credential, another scheme, an expired key`);
      }
      for (const caller of callers) {
        const { scopes } = SCOPES[caller]!;
        if (mayUse(endpoint, scopes)) {
          // A condition that no record fulfils: what may be done is tried, and nothing is done.
          const headers = { 'if-match': '"0"', 'content-type': 'text/plain' };
          const { status } = await as(caller, method, there, { headers });
          t.ok(status < 500 && ![401, 403].includes(status), `${caller} may ${method} ${path}: ${status}`);
        } else {
          const [one, two] = [await as(caller, method, there), await as(caller, method, absent)];
          t.equal(one.status, 403, `${caller} may not ${method} ${path}`);
          const [found, other] = [one, two].map(({ status, text }) => [status, withoutRequestId(text)]);
          t.same(other, found, 'whether there is one or not');
          t.equal(one.json.error.code, 'INSUFFICIENT_SCOPE');
          t.match(one.headers['www-authenticate'], CHALLENGE);
        }
      }
    }
  }
});

t.test('self: the own record and the own posts, and nothing of others', async (t) => {
  const { as, ids, open } = await setup(t);
  const { ada, eve, adasPost, evesPost } = ids;
  const statusOf = async (method: string, path: string, body?: unknown) =>
    (await as('ada', method, path, body === undefined ? {} : { body })).status;
  t.equal(await statusOf('GET', `/users/${ada}`), 200);
  t.equal(await statusOf('GET', `/users/${ada.toUpperCase()}`), 200);
  t.equal(await statusOf('PATCH', `/users/${ada}`, { age: 36 }), 200);
  t.equal(await statusOf('GET', `/users/${ada}/posts`), 200);
  t.equal(await statusOf('POST', `/users/${ada}/posts`, { title: 'nested' }), 201);
  t.equal(await statusOf('POST', '/posts', { userId: ada, title: 'mine too' }), 201);
  const own = (await as('ada', 'GET', '/posts')).json as { userId: string }[];
  t.same([...new Set(own.map(({ userId }) => userId))], [ada], 'the list has the own posts alone');
  t.match((await as('ada', 'GET', '/posts?limit=1')).json.meta, { total: own.length });
  t.same((await as('client', 'GET', '/posts')).json, []);
  t.equal(await statusOf('GET', `/posts/${adasPost}`), 200);
  t.equal(await statusOf('PATCH', `/posts/${adasPost}`, { title: 'changed' }), 200);
  t.equal(await statusOf('PUT', `/posts/${adasPost}`, { userId: ada, title: 'whole' }), 200);

  // As under access rules, the posts of others are as those that there are not.
  const rows: [method: string, path: string, body: unknown, status: number][] = [
    ['GET', '/users', undefined, 403],
    ['POST', '/users', { email: 'new@example.org', name: 'new' }, 403],
    ['GET', `/users/${eve}`, undefined, 403],
    ['PATCH', `/users/${eve}`, { age: 1 }, 403],
    ['DELETE', `/users/${eve}`, undefined, 403],
    ['GET', `/users/${ABSENT}`, undefined, 403],
    ['GET', `/users/${eve}/posts`, undefined, 403],
    ['POST', `/users/${eve}/posts`, { title: 'not mine' }, 403],
    ['GET', '/items', undefined, 403],
    ['POST', '/posts', { userId: eve }, 422],
    ['POST', '/posts', { userId: ABSENT }, 422],
    ['POST', '/posts', {}, 400],
    ['PATCH', `/posts/${adasPost}`, { userId: eve }, 422],
    ['PUT', `/posts/${adasPost}`, { userId: eve }, 422],
    ...[evesPost, ABSENT, 'none'].flatMap((id): [string, string, unknown, number][] => [
      ['GET', `/posts/${id}`, undefined, 404],
      ['PUT', `/posts/${id}`, { userId: ada }, 404],
      ['PATCH', `/posts/${id}`, { userId: ada }, 404],
      ['PUT', `/posts/${id}`, { title: 5 }, 404],
      ['PATCH', `/posts/${id}`, { title: 'a', _version: 99 }, 404],
      ['DELETE', `/posts/${id}`, undefined, 204],
    ]),
  ];
  for (const [method, path, body, status] of rows)
    t.equal(await statusOf(method, path, body), status, `${method} ${path}`);
  t.match((await open.send('GET', `/posts/${adasPost}`)).json, { userId: ada, title: 'whole' });
  t.match((await open.send('GET', `/posts/${evesPost}`)).json, { userId: eve, title: 'mine' });
  const client = await as('client', 'GET', `/posts/${adasPost}`);
  t.equal(client.status, 404, 'a subject that is no user owns nothing');

  t.equal(await statusOf('DELETE', `/posts/${adasPost}`), 204);
  t.equal(await statusOf('DELETE', `/users/${ada}`), 403);
  const refused = await as('ada', 'DELETE', `/users/${ada}`);
  t.match(refused.json.error.details, { scope: 'self:delete' }, 'an account needs a permission of its own');
  t.equal((await as('leaving', 'GET', `/users/${ada}`)).status, 403);
  t.equal((await as('leaving', 'DELETE', `/users/${eve}`)).status, 403);
  const headers = { 'if-match': '"9"' };
  const outdated = await as('leaving', 'DELETE', `/users/${ada}`, { headers });
  t.equal(outdated.status, 412);
  t.notMatch(outdated.text, /ada@example\.org/, 'who may only delete an account does not read it');
  const body = [{ method: 'DELETE', path: `/users/${ada}`, headers }];
  const operation = await as('leaving', 'POST', '/batch', { body });
  t.equal(operation.status, 412);
  t.notMatch(operation.text, /ada@example\.org/, 'nor in a batch');
  t.equal((await as('leaving', 'DELETE', `/users/${ada}`)).status, 204);
});

t.test('each operation of a batch needs what it needs alone', async (t) => {
  const { as, ids, open } = await setup(t);
  const operations = (method: string, path: string, body?: unknown) => ({
    body: [
      { method: 'GET', path: `/users/${ids.ada}` },
      { method, path, body },
    ],
  });
  t.equal((await as('ada', 'POST', '/batch', operations('GET', `/posts/${ids.adasPost}`))).status, 200);
  const move = operations('PATCH', `/posts/${ids.adasPost}`, { userId: ids.eve });
  t.equal((await as('ada', 'POST', '/batch', move)).status, 422);
  t.equal((await open.send('GET', `/posts/${ids.adasPost}`)).json.userId, ids.ada);
  t.equal((await as('ada', 'POST', '/batch', operations('GET', `/users/${ids.eve}`))).status, 403);
  t.equal((await as('ada', 'POST', '/batch', operations('POST', '/items', { name: 'x' }))).status, 403);
  t.equal((await open.send('GET', '/items?search=x&page=1')).json.meta.total, 0);
});

t.test('one key of two callers is two keys', async (t) => {
  const { as, ids } = await setup(t);
  const options = { headers: { 'idempotency-key': 'same' }, body: { name: 'once' } };
  const first = await as('items:write', 'POST', '/items', options);
  const second = await as('admin', 'POST', '/items', options);
  t.same([first.status, second.status], [201, 201]);
  t.not(first.json.id, second.json.id);
  const mine = { ...options, body: { userId: ids.ada } };
  t.equal((await as('ada', 'POST', '/posts', mine)).status, 201, 'and an own creation takes one');
});
