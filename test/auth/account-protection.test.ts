import { setUserScopes } from '../../src/auth/user-scopes.js';
import type { JsonObject } from '../../src/json.js';
import { rpc } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { byPassword, makeKey, PASSWORD } from '../support/credentials.js';
import { ADMIN, withAccess } from '../support/declared.js';
import { type SendOptions, type ServiceResponse, testService, UNDECLARED } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const ENV = { AUTH: 'api-key,basic', INSECURE: 'basic', AUTH_FAILURES: '0', MCP: 'on' };
const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const MORE = 'The user was granted scopes that this credential lacks.';

type As = (method: string, path: string, options?: SendOptions) => Promise<ServiceResponse>;

async function setUp(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, { ...ENV, ...env });
  const by = async (subject: string, ...scopes: string[]): Promise<As> => {
    const { key } = await makeKey(service.db, { subject, scopes });
    return (method, path, options = {}) =>
      service.send(method, path, { ...options, headers: { ...options.headers, 'x-api-key': key } });
  };
  const admin = await by('operator', 'admin');
  const user = async (name: string, ...scopes: string[]) => {
    const { json } = await admin('POST', '/users', { body: { email: `${name}@example.org`, name } });
    if (scopes.length > 0) await setUserScopes(service.db, json.id, scopes);
    return json.id as string;
  };
  const sql = sqlOf(t, service.databaseUrl);
  const passwords = async () => (await sql`select count(*)::int as count from passwords`)[0]!.count as number;
  return { ...service, by, admin, user, passwords };
}

type Way = readonly [name: string, method: string, path: string, options?: SendOptions];

/** Each way to change how a user signs in, or to delete the user. */
function ways(id: string, name: string): Way[] {
  const path = `/users/${id}`;
  const [email, password] = [{ email: `eve+${name}@example.org` }, { password: PASSWORD }];
  const old = { email: `${name}@example.org`, name };
  const filter = `/users?filter[email]=${old.email}`;
  const add = (name: string, value: string) => ({
    body: [{ op: 'add', path: `/${name}`, value }],
    type: JSON_PATCH,
  });
  const copy = [{ op: 'copy', from: '/id', path: '/password' }];
  const headers = { 'idempotency-key': `key-${id}` };
  const batch = (method: string, path: string, body?: object): SendOptions => ({
    body: [{ method, path, body }],
  });
  const tool = (name: string, args: JsonObject) => ({
    body: rpc('tools/call', { name, arguments: args }),
    headers: { accept: 'application/json, text/event-stream' },
  });
  return [
    ['PUT with an email', 'PUT', path, { body: { ...email, name } }],
    ['PUT with a password', 'PUT', path, { body: { ...old, ...password } }],
    ['PATCH of the email', 'PATCH', path, { body: email }],
    ['PATCH of the password', 'PATCH', path, { body: password }],
    ['merge patch', 'PATCH', path, { body: email, type: MERGE_PATCH }],
    ['merge patch of the password', 'PATCH', path, { body: password, type: MERGE_PATCH }],
    ['JSON Patch', 'PATCH', path, add('email', email.email)],
    ['JSON Patch of the password', 'PATCH', path, add('password', PASSWORD)],
    ['JSON Patch that copies into the password', 'PATCH', path, { body: copy, type: JSON_PATCH }],
    ['PATCH with a key', 'PATCH', path, { body: password, headers }],
    ['PATCH of a filter', 'PATCH', filter, { body: email }],
    ['upsert', 'PUT', filter, { body: { name, ...password } }],
    ['PATCH in a batch', 'POST', '/batch', batch('PATCH', path, password)],
    ['PUT in a batch', 'POST', '/batch', batch('PUT', path, { name, ...email })],
    ['PATCH of a filter in a batch', 'POST', '/batch', batch('PATCH', filter, email)],
    ['upsert in a batch', 'POST', '/batch', batch('PUT', filter, { name, ...password })],
    ['DELETE in a batch', 'POST', '/batch', batch('DELETE', path)],
    ['a tool that changes', 'POST', '/mcp', tool('users_update', { id, patch: email })],
    ['a tool that deletes', 'POST', '/mcp', tool('users_delete', { id })],
    ['DELETE of a filter', 'DELETE', filter],
    ['DELETE', 'DELETE', path],
  ];
}

t.test('users:write takes over and deletes no account with scopes that it lacks', async (t) => {
  const { by, admin, user, passwords } = await setUp(t);
  const writer = await by('writer', 'users:write');
  const both = await by('both', 'users:write', 'items:write');
  for (const [name, scopes, callers] of [
    ['root', ['admin'], [writer, both]],
    ['editor', ['items:write'], [writer]],
    ['reader', ['self', 'items:read', 'events:read'], [writer, both]],
  ] as const) {
    const id = await user(name, ...scopes);
    const before = (await admin('GET', `/users/${id}`)).text;
    for (const caller of callers) {
      for (const [says, method, path, options] of ways(id, name)) {
        const { status, json, text } = await caller(method, path, options);
        const refused = path === '/mcp' ? [200, json.result?.isError] : [status, json.error?.code];
        const expected = path === '/mcp' ? [200, true] : [403, 'INSUFFICIENT_SCOPE'];
        t.same(refused, expected, `${name}, ${says}: ${text}`);
        t.match(text, MORE, `${name}, ${says}`);
      }
    }
    t.equal((await admin('GET', `/users/${id}`)).text, before, `${name}: nothing was changed`);
    t.equal(await passwords(), 0);
  }
});

t.test('users:write changes and deletes other accounts in each way', async (t) => {
  const { by, user } = await setUp(t);
  const writer = await by('writer', 'users:write', 'items:write');
  const owners = { nobody: [], self: ['self', 'self:delete'], reader: ['items:read', 'users:read'] };
  for (const [name, scopes] of Object.entries(owners)) {
    for (const index of ways('', '').keys()) {
      const id = await user(`${name}${index}`, ...scopes);
      const [says, method, path, options] = ways(id, `${name}${index}`)[index]!;
      const { status, json, text } = await writer(method, path, options);
      t.ok(status < 300, `${name}, ${says}: ${status} ${text}`);
      if (path === '/mcp') t.notOk(json.result.isError, text);
    }
  }
});

t.test('other fields of an administrator are free, and so is its email as it is', async (t) => {
  const { by, user, admin } = await setUp(t);
  const writer = await by('writer', 'users:write');
  const id = await user('root', 'admin');
  for (const [method, body, type] of [
    ['PATCH', { name: 'Root' }],
    ['PATCH', { email: ' ROOT@example.org', note: 1 }],
    ['PUT', { email: 'root@example.org', name: 'Root' }],
    ['PATCH', { name: 'Root' }, MERGE_PATCH],
  ] as [string, object, string?][]) {
    const { status, text } = await writer(method, `/users/${id}`, { body, ...(type && { type }) });
    t.equal(status, 200, text);
  }
  const many = await writer('PATCH', '/users?filter[email]=root@example.org', { body: { note: 2 } });
  t.equal(many.status, 200, many.text);
  t.equal((await admin('PATCH', `/users/${id}`, { body: { password: PASSWORD } })).status, 200);
  t.equal((await admin('DELETE', `/users/${id}`)).status, 204);
});

t.test('an administrator whose credential has fewer scopes is a user of its own account', async (t) => {
  const { by, user, admin, send } = await setUp(t);
  const id = await user('root', 'admin');
  const token = await by(id, 'users:write');
  const change = (body: object) => token('PATCH', `/users/${id}`, { body });
  t.equal((await change({ password: PASSWORD })).json.error.code, 'PASSWORD_NOT_SET');
  t.equal((await admin('PATCH', `/users/${id}`, { body: { password: PASSWORD } })).status, 200);
  t.equal((await change({ email: 'eve@example.org' })).json.error.code, 'CURRENT_PASSWORD_REQUIRED');
  const wrong = { email: 'eve@example.org', current_password: 'wrong battery staple' };
  t.equal((await change(wrong)).json.error.code, 'CURRENT_PASSWORD_WRONG');
  t.equal((await change({ email: 'eve@example.org', current_password: PASSWORD })).status, 200);
  t.equal((await send('GET', '/whoami', { headers: byPassword('eve@example.org') })).status, 200);
  t.equal((await token('DELETE', `/users/${id}`)).status, 403, 'an application without self:delete');
  t.equal((await (await by(id, 'users:write', 'self:delete'))('DELETE', `/users/${id}`)).status, 204);
});

/** Leaders change and delete the members of their teams, and have no other records. */
const WITH_LEADERS: JsonObject = withAccess(
  { leader: { type: 'string', maxLength: 100, 'x-index': true } },
  [{ can: 'all', where: { leader: '$caller' } }, ADMIN],
  { owner: true },
);

async function withLeader(t: Test) {
  const declared = { COLLECTIONS: declare(t, { 'users.json': WITH_LEADERS }) };
  const all = await setUp(t, { ...declared, DATABASE_URL: UNDECLARED });
  const { admin, user, send } = all;
  const leader = await user('leader');
  await admin('PATCH', `/users/${leader}`, { body: { password: PASSWORD } });
  const member = async (name: string, ...scopes: string[]) => {
    const id = await user(name, ...scopes);
    await admin('PATCH', `/users/${id}`, { body: { leader } });
    return id;
  };
  const inPerson: As = (method, path, options = {}) =>
    send(method, path, { ...options, headers: { ...options.headers, ...byPassword('leader@example.org') } });
  return { ...all, leader, member, inPerson };
}

t.test('access rules protect accounts with scopes that the caller lacks', async (t) => {
  const { admin, member, inPerson, passwords } = await withLeader(t);
  const id = await member('root', 'admin');
  const before = (await admin('GET', `/users/${id}`)).text;
  for (const [says, method, path, options] of ways(id, 'root')) {
    const { status, json, text } = await inPerson(method, path, options);
    const refused = path === '/mcp' ? json.result?.isError : status === 403;
    t.equal(refused, true, `${says}: ${status} ${text}`);
    t.match(text, 'ACCESS_DENIED', says);
  }
  t.equal((await admin('GET', `/users/${id}`)).text, before, 'nothing was changed');
  t.equal(await passwords(), 1);
  const free = await member('free');
  t.equal((await inPerson('PATCH', `/users/${free}`, { body: { password: PASSWORD } })).status, 200);
  t.equal((await inPerson('DELETE', `/users/${free}`)).status, 204);
});

t.test('the protection of accounts reveals nothing of users that access rules hide', async (t) => {
  const { admin, user, by, leader, inPerson } = await withLeader(t);
  const application = await by(leader, 'self', 'self:delete');
  const hidden = [await user('plain'), await user('root', 'admin'), await user('known')];
  await admin('PATCH', `/users/${hidden[2]}`, { body: { password: PASSWORD } });
  const absent = '01a20900-0000-7000-8000-000000000000';
  const body = { password: PASSWORD, current_password: 'a guess of a password' };
  const key = () => ({ 'idempotency-key': String(Math.random()) });
  for (const caller of [inPerson, application]) {
    const responses = async (id: string) => {
      const path = `/users/${id}`;
      const operations = [{ method: 'PATCH', path, body }];
      const sent = [
        await caller('DELETE', path),
        await caller('PATCH', path, { body }),
        await caller('PATCH', path, { body, headers: key() }),
        await caller('PUT', path, { body: { ...body, name: 'A', email: 'a@example.org' }, headers: key() }),
        await caller('POST', '/batch', { body: { operations } }),
        await caller('POST', '/batch', { body: { operations: [{ method: 'DELETE', path }] } }),
      ];
      return sent.map(({ status, text }) => [status, text.replace(/,"requestId":"[^"]*"/, '')]);
    };
    const expected = await responses(absent);
    for (const id of hidden) t.same(await responses(id), expected);
  }
});
