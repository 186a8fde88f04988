import { hashPassword } from '../../../src/passwords/password.js';
import { byPassword as basic } from '../../support/credentials.js';
import { useRealHashCost } from '../../support/hash-cost.js';
import { testService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

const ENV = { AUTH: 'basic', INSECURE: 'basic', BASIC_SCOPES: 'self users:write', AUTH_FAILURES: '0' };
const PASSWORD = 'correct horse: battery ståple';

/** A service with one user who has a password. */
async function withUser(t: import('tap').Test, env: Record<string, string> = {}) {
  const open = await testService(t, { AUTH: 'none' });
  const created = await open.send('POST', '/users', {
    body: { email: 'Ada@Example.org', name: 'Ada', password: PASSWORD },
  });
  const service = await testService(t, { ...ENV, ...env, DATABASE_URL: open.databaseUrl });
  const sql = sqlOf(t, open.databaseUrl);
  return { ...service, open, sql, id: created.json.id as string };
}

t.test('email and password of a user', async (t) => {
  const { send, id } = await withUser(t);
  const caller = await send('GET', '/whoami', { headers: basic('ada@example.org', PASSWORD) });
  t.same(caller.json, { subject: id, scopes: ['self', 'users:write'], scheme: 'basic', expires_at: null });
  t.equal((await send('GET', '/whoami', { headers: basic(' ADA@example.ORG', PASSWORD) })).status, 200);
  const refused: [name: string, headers: Record<string, string>][] = [
    ['no credential', {}],
    ['wrong password', basic('ada@example.org', 'wrong')],
    ['empty password', basic('ada@example.org', '')],
    ['unknown user', basic('eve@example.org', PASSWORD)],
    ['no colon', { authorization: `Basic ${Buffer.from('ada').toString('base64')}` }],
    ['no base64', { authorization: 'Basic ?:?' }],
    ['nothing', { authorization: 'Basic' }],
    ['U+0000', basic('ada@example.org\0', PASSWORD)],
    ['much too long', basic('ada@example.org', 'x'.repeat(5000))],
  ];
  for (const [name, headers] of refused) {
    const { status, headers: fields, json } = await send('GET', '/whoami', { headers });
    t.equal(status, 401, name);
    t.equal(fields['www-authenticate'], 'Basic realm="plinth", charset="UTF-8"');
    t.equal(json.error.code, 'UNAUTHORIZED');
  }
  const message = async (email: string): Promise<string> =>
    (await send('GET', '/whoami', { headers: basic(email, 'wrong') })).json.error.message;
  // The response does not reveal whether the user exists.
  t.equal(await message('ada@example.org'), await message('eve@example.org'));
});

t.test('a changed or removed password is refused at once', async (t) => {
  const { send, open, id } = await withUser(t);
  const old = basic('ada@example.org', PASSWORD);
  t.equal((await send('GET', '/whoami', { headers: old })).status, 200);
  await send('PATCH', `/users/${id}`, { headers: old, body: { password: 'another one' } });
  t.equal((await send('GET', '/whoami', { headers: old })).status, 401);
  const headers = basic('ada@example.org', 'another one');
  t.equal((await send('GET', '/whoami', { headers })).status, 200);
  await open.send('DELETE', `/users/${id}`);
  t.equal((await send('GET', '/whoami', { headers })).status, 401);
});

t.test('a hash with other parameters is made anew when it is used', async (t) => {
  useRealHashCost(t, 2 ** 12);
  const { send, sql, id } = await withUser(t);
  const { scryptSync } = await import('node:crypto');
  const salt = Buffer.from('0123456789abcdef');
  const key = scryptSync(PASSWORD.normalize('NFC'), salt, 32, { N: 1024, r: 8, p: 1 });
  const weak = `scrypt$1024$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
  await sql`update passwords set hash = ${weak} where user_id = ${id}`;
  const headers = basic('ada@example.org', PASSWORD);
  t.equal((await send('GET', '/whoami', { headers })).status, 200);
  const stored = async () => (await sql`select hash from passwords where user_id = ${id}`)[0]!.hash as string;
  t.match(await until('it is made anew', stored, (hash) => hash !== weak), /^scrypt\$4096\$8\$3\$/);
  t.equal((await send('GET', '/whoami', { headers })).status, 200);
});

t.test('over TLS only: of the proxy that is trusted, or not at all', async (t) => {
  const { send } = await withUser(t, { INSECURE: '', TRUST_PROXY: '127.0.0.0/8' });
  const headers = basic('ada@example.org', PASSWORD);
  const status = async (fields: Record<string, string>) =>
    (await send('GET', '/whoami', { headers: { ...headers, ...fields } })).status;
  t.equal(await status({ 'x-forwarded-proto': 'https' }), 200);
  t.equal(await status({ 'x-forwarded-proto': 'http' }), 401);
  t.equal(await status({ 'x-forwarded-proto': 'https, http' }), 401, 'the nearest proxy counts');
  t.equal(await status({ forwarded: 'for=192.0.2.1;proto=https' }), 401, 'not the family of this proxy');
  t.equal(await status({ forwarded: 'for=192.0.2.1;proto=http', 'x-forwarded-proto': 'https' }), 200);
  t.equal(await status({}), 401);

  const loopback = await withUser(t);
  const through = { headers: { ...headers, 'x-forwarded-for': '192.0.2.1' } };
  t.equal((await loopback.send('GET', '/whoami', through)).status, 401, 'through an untrusted proxy');
  const untrusted = await withUser(t, { INSECURE: '', TRUST_PROXY: '192.0.2.1' });
  const forwarded = { ...headers, 'x-forwarded-proto': 'https' };
  t.equal((await untrusted.send('GET', '/whoami', { headers: forwarded })).status, 401);
});

t.test('a flood of passwords is bounded, and others are served meanwhile', async (t) => {
  // Slower than requests arrive.
  useRealHashCost(t, 2 ** 13);
  const { send } = await withUser(t, { AUTH: 'basic' });
  const flood = Array.from({ length: 30 }, (_, n) =>
    send('GET', '/whoami', { headers: basic(`u${n}@example.org`, PASSWORD) }),
  );
  const missing = await send('GET', '/nothing');
  t.equal(missing.status, 404);
  const responses = await Promise.all(flood);
  const busy = responses.filter(({ status }) => status === 503);
  t.ok(busy.length > 0 && busy.length < 30, `${busy.length} of 30`);
  t.ok(busy.every(({ headers }) => headers['retry-after'] === '1'));
  t.equal(responses.filter(({ status }) => status === 401).length, 30 - busy.length);
  t.not(await hashPassword(PASSWORD), '', 'and the queue is empty again');
});
