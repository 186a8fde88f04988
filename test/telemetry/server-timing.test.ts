import { mockLimits } from '../support/pause.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const FORM = /^auth;dur=(\d+\.\d{3}), db;dur=(\d+\.\d{3}), total;dur=(\d+\.\d{3})$/;

const partsOf = (field: unknown) => (FORM.exec(String(field)) ?? []).slice(1).map(Number);

t.test('nothing is reported unless it is configured', async (t) => {
  const { send } = await testService(t);
  t.equal((await send('GET', '/users')).headers['server-timing'], undefined);
});

t.test('each response reports what it waited for: the database, and in all', async (t) => {
  const { send } = await testService(t, { SERVER_TIMING: 'on' });
  const { json } = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const path = `/users/${json.id}`;
  for (const [method, target] of [
    ['GET', path],
    ['HEAD', path],
    ['GET', '/users'],
    ['GET', '/users?page=1'],
    ['PATCH', path],
    ['GET', '/users/none'],
    ['GET', '/nowhere'],
  ] as const) {
    const [auth, waited, total] = partsOf((await send(method, target)).headers['server-timing']);
    t.ok(auth! <= total!, `${method} ${target}`);
    t.ok(waited! <= total! && total! < 60_000);
  }
  t.equal(partsOf((await send('GET', '/nowhere')).headers['server-timing'])[1], 0, 'no database, no wait');
});

t.test('the wait for a lock is a wait for the database', async (t) => {
  const { send, databaseUrl } = await testService(t, { SERVER_TIMING: 'on', DB_TIMEOUT_MS: '600000' });
  const { json } = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const sql = sqlOf(t, databaseUrl, { max: 2 });
  const clock = mockLimits(t);
  const put = await sql.begin(async (holding) => {
    await holding`select 1 from users where id = ${json.id} for update`;
    const sent = send('PUT', `/users/${json.id}`, { body: { email: 'a@example.org', name: 'B' } });
    await until(
      'the write waits for the lock',
      () =>
        sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      ({ length }) => length > 0,
    );
    clock.ms += 5000;
    return [sent];
  });
  const [, waited, total] = partsOf((await put[0])!.headers['server-timing']);
  t.equal(waited, 5000);
  t.equal(total, 5000);
});

t.test('each of the requests that share a statement waited for it', async (t) => {
  const { send } = await testService(t, { SERVER_TIMING: 'on' });
  const { json } = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const responses = await Promise.all(Array.from({ length: 20 }, () => send('GET', `/users/${json.id}`)));
  for (const { headers } of responses) t.ok(partsOf(headers['server-timing'])[1]! > 0);
});

t.test('how long a credential took, valid or not', async (t) => {
  const { send } = await testService(t, { SERVER_TIMING: 'on', AUTH: 'basic', INSECURE: 'basic' });
  const authorization = `Basic ${Buffer.from('a@example.org:wrong-password').toString('base64')}`;
  const refused = await send('GET', '/users', { headers: { authorization } });
  t.equal(refused.status, 401);
  const [auth, , total] = partsOf(refused.headers['server-timing']);
  t.ok(auth! > 1, 'scrypt takes its time');
  t.ok(total! >= auth!);
});
