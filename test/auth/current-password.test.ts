import { scryptSync } from 'node:crypto';
import { isYoungerThan } from '../../src/auth/principal.js';
import { byPassword, byToken, makeKey } from '../support/credentials.js';
import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../support/issuer.js';
import { mockLimits } from '../support/pause.js';
import { type SendOptions, type ServiceResponse, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const OLD = 'old battery staple';
const NEW = 'new battery staple';
const WRONG = 'wrong battery staple';
const RECORD = { email: 'ada@example.org', name: 'Ada' };

/** Of a password that is quick to verify. */
function quickHash(password: string): string {
  const salt = Buffer.from('0123456789abcdef');
  const key = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 });
  return `scrypt$1024$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
}

/** A service with a user who has a password, and keys of that user and of operators. */
async function setup(t: Test, env: Record<string, string> = {}, password: string | undefined = OLD) {
  const settings = { AUTH: 'api-key, basic', INSECURE: 'basic', AUTH_FAILURES: '0', ...env };
  const service = await testService(t, settings);
  const as =
    (key: string) =>
    (method: string, path: string, options: SendOptions = {}): Promise<ServiceResponse> =>
      service.send(method, path, { ...options, headers: { ...options.headers, 'x-api-key': key } });
  const admin = as((await makeKey(service.db)).key);
  const writer = as((await makeKey(service.db, { scopes: ['users:write'] })).key);
  const created = await admin('POST', '/users', { body: RECORD });
  t.equal(created.status, 201);
  const id = created.json.id as string;
  const sql = sqlOf(t, service.databaseUrl);
  if (password) await sql`insert into passwords values (${id}, ${quickHash(password)})`;
  const self = as((await makeKey(service.db, { subject: id, scopes: ['self'] })).key);
  const signIn = async (password: string) =>
    (await service.send('GET', '/whoami', { headers: byPassword(RECORD.email, password) })).status;
  return { ...service, admin, writer, self, id, signIn, sql };
}

type Way = readonly [says: string, method: string, path: string, options: SendOptions];

/** Requests that set one field, with the given current password. */
function changes(id: string, field: 'email' | 'password', current?: string): Way[] {
  const value = field === 'email' ? 'eve@example.org' : NEW;
  const fields = { [field]: value, ...(current !== undefined && { current_password: current }) };
  const key = `${field}-${current?.slice(0, 3)}`;
  const keyed = (name: string) => ({ headers: { 'idempotency-key': `${name}-${key}` } });
  const add = Object.entries(fields).map(([name, value]) => ({ op: 'add', path: `/${name}`, value }));
  const move = { op: 'move', from: '/other', path: `/${field}` };
  const moved = [{ ...add[0], path: '/other' }, move, ...add.slice(1)];
  const path = `/users/${id}`;
  const batch = [{ note: 'first' }, fields].map((body) => ({ method: 'PATCH', path, body }));
  return [
    ['PUT', 'PUT', path, { body: { ...RECORD, ...fields } }],
    ['PATCH', 'PATCH', path, { body: fields }],
    ['merge patch', 'PATCH', path, { body: fields, type: MERGE_PATCH }],
    ['JSON Patch', 'PATCH', path, { body: add, type: JSON_PATCH }],
    ['a moved value', 'PATCH', path, { body: moved, type: JSON_PATCH }],
    ['PATCH with a key', 'PATCH', path, { body: fields, ...keyed('one') }],
    ['a batch', 'POST', '/batch', { body: batch }],
    ['a batch with a key', 'POST', '/batch', { body: batch, ...keyed('batch') }],
  ];
}

const REFUSED = [
  [undefined, 'CURRENT_PASSWORD_REQUIRED'],
  [WRONG, 'CURRENT_PASSWORD_WRONG'],
] as const;

t.test('a user changes its own password with the current one only', async (t) => {
  const { self, id, sql, signIn } = await setup(t);
  const hash = async () => (await sql`select hash from passwords`)[0]!.hash as string;
  const before = await hash();
  for (const [current, code] of REFUSED)
    for (const [says, method, path, options] of changes(id, 'password', current)) {
      const { status, json, text } = await self(method, path, options);
      t.same([status, json.error.code], [403, code], `${says}: ${text}`);
    }
  t.equal(await hash(), before, 'nothing was changed');
  t.equal((await self('GET', `/users/${id}`)).json.note, undefined, 'nor by the batches');
  const other = await self('PATCH', `/users/${id}`, { body: { nick: 'ada' } });
  t.equal(other.status, 200, 'other fields are free');
  for (const [says, method, path, options] of changes(id, 'password', OLD)) {
    await sql`update passwords set hash = ${before}`;
    const { status, text } = await self(method, path, options);
    t.equal(status, 200, `${says}: ${text}`);
    t.not(await hash(), before, says);
  }
  t.equal(await signIn(NEW), 200);
  t.equal(await signIn(OLD), 401);
  const traces = await sql`
    select (select string_agg(users::text, '') from users) || (select string_agg(events::text, '') from events)
      || (select string_agg(idempotency_keys::text, '') from idempotency_keys) as text`;
  t.notMatch(traces[0]!.text, /battery|current_password/, 'no record, event or stored response has it');
});

t.test('an operator sets the first password, and needs none; what it sends is ignored', async (t) => {
  const { self, admin, writer, id, signIn } = await setup(t, {}, '');
  for (const [says, method, path, options] of [...changes(id, 'password'), ...changes(id, 'password', OLD)]) {
    const { status, json } = await self(method, path, options);
    t.same([status, json.error.code], [403, 'PASSWORD_NOT_SET'], says);
  }
  t.equal(await signIn(NEW), 401);
  for (const [says, by] of [
    ['admin', admin],
    ['users:write', writer],
  ] as const) {
    const body = { password: OLD, current_password: WRONG };
    t.equal((await by('PATCH', `/users/${id}`, { body })).status, 200, says);
    t.equal((await by('PATCH', `/users/${id}`, { body: { current_password: WRONG } })).status, 200);
    const { json } = await by('PUT', `/users/${id}`, { body: { ...RECORD, current_password: WRONG } });
    t.notOk('current_password' in json, says);
  }
  const body = { email: 'eve@example.org', name: 'Eve', current_password: WRONG };
  t.notOk('current_password' in (await admin('POST', '/users', { body })).json);
  t.equal(await signIn(OLD), 200);
});

t.test('a stored field of an older version is not the current password', async (t) => {
  const { self, id, sql } = await setup(t);
  await sql`update users set doc = replace(doc, '"name":"Ada"', ${`"name":"Ada","current_password":"${OLD}"`})`;
  t.equal((await self('GET', `/users/${id}`)).json.current_password, OLD);
  for (const [says, method, path, options] of changes(id, 'password').slice(1, 4)) {
    const { json } = await self(method, path, options);
    t.equal(json.error.code, 'CURRENT_PASSWORD_REQUIRED', says);
  }
});

t.test('wrong current passwords reach the limit of failed logins of the account', async (t) => {
  mockLimits(t);
  const { self, admin, id, signIn } = await setup(t, { AUTH_FAILURES: '3' });
  const guess = (current_password: string) =>
    self('PATCH', `/users/${id}`, { body: { password: NEW, current_password } });
  for (let n = 0; n < 3; n++) t.equal((await guess(`${WRONG} ${n}`)).status, 403);
  const limited = await guess(OLD);
  t.same([limited.status, limited.json.error.code], [429, 'RATE_LIMITED'], 'a right one tells nothing now');
  t.ok(Number(limited.headers['retry-after']) >= 1);
  t.equal(await signIn(OLD), 429, 'it is the limit of sign-ins');
  t.equal((await admin('PATCH', `/users/${id}`, { body: { x: 1 } })).status, 200, 'others do not wait');
});

t.test('a user changes its own email with the current password only', async (t) => {
  const { self, admin, id, sql } = await setup(t);
  const email = async () => (await sql`select email from users where id = ${id}`)[0]!.email as string;
  for (const [current, code] of REFUSED)
    for (const [says, method, path, options] of changes(id, 'email', current)) {
      const { status, json, text } = await self(method, path, options);
      t.same([status, json.error.code], [403, code], `${says}: ${text}`);
    }
  t.equal(await email(), RECORD.email);
  for (const [says, method, path, options] of changes(id, 'email', OLD)) {
    t.equal((await admin('PATCH', `/users/${id}`, { body: RECORD })).status, 200);
    const { status, text } = await self(method, path, options);
    t.equal(status, 200, `${says}: ${text}`);
    t.equal(await email(), 'eve@example.org', says);
  }
  t.equal((await admin('PATCH', `/users/${id}`, { body: RECORD })).status, 200);
  const unchanged = { ...RECORD, email: ' ADA@example.org ', note: 'x' };
  const replaced = await self('PUT', `/users/${id}`, { body: unchanged });
  t.equal(replaced.status, 200, 'the same email is no change');
  await sql`delete from passwords`;
  const { status, json } = await self('PATCH', `/users/${id}`, { body: { email: 'eve@example.org' } });
  t.same([status, json.error.code], [403, 'PASSWORD_NOT_SET']);
});

t.test('no token replaces the current password, however recent its sign-in is; Basic does', async (t) => {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  const env = { AUTH: 'api-key, basic, bearer', ISSUER: issuer.url, AUDIENCE };
  const { send, id, signIn } = await setup(t, env);
  const change = (headers: Record<string, string>, password: string) =>
    send('PATCH', `/users/${id}`, { headers, body: { password } });
  t.equal((await change(byPassword(RECORD.email, OLD), NEW)).status, 200, 'basic');
  t.equal(await signIn(NEW), 200);
  const now = Math.floor(Date.now() / 1000);
  for (const [says, authTime, status] of [
    ['no auth_time', undefined, 403],
    ['an old sign-in', now - 330, 403],
    ['a sign-in to come', now + 600, 403],
    ['no number', 'now', 403],
    ['a recent sign-in', now, 403],
  ] as const) {
    const own = { sub: id, scope: 'self', auth_time: authTime };
    const headers = byToken(await sign(key, claims(issuer.url, own)));
    t.equal((await change(headers, `${says}, a password`)).status, status, says);
    t.equal((await send('DELETE', `/users/${id}`, { headers })).status, 403, says);
  }
  const inPerson = { headers: byPassword(RECORD.email, NEW) };
  t.equal((await send('DELETE', `/users/${id}`, inPerson)).status, 204, 'in person');
});

t.test('a sign-in is young until its age reaches the limit, and never in the future', async (t) => {
  const now = Date.now() / 1000;
  t.ok(isYoungerThan(300, now - 1));
  t.ok(isYoungerThan(300, now + 5), 'the clock of another process');
  t.notOk(isYoungerThan(300, now - 301));
  t.notOk(isYoungerThan(300, now + 3600), 'before the clock was set back');
  t.notOk(isYoungerThan(300, undefined));
});
