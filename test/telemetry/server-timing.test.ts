import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { testService } from '../support/service.js';

const FORM = /^auth;dur=(\d+\.\d{3}), db;dur=(\d+\.\d{3}), total;dur=(\d+\.\d{3})$/;

const partsOf = (field: unknown) => (FORM.exec(String(field)) ?? []).slice(1).map(Number);

t.test('nothing is reported unless it is configured', async (t) => {
  const { send } = await testService(t);
  t.equal((await send('GET', '/users')).headers['server-timing'], undefined);
});

t.test('each response reports what it waited for: the database, and in all', async (t) => {
  const { send, db } = await testService(t, { SERVER_TIMING: 'on' });
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
  // The row is locked: the write waits as long as we do.
  let locked: () => void = () => undefined;
  const isLocked = new Promise<void>((resolve) => {
    locked = resolve;
  });
  const holding = db.transaction(async (run) => {
    await run('select 1 from users where id = $1 for update', [json.id]);
    locked();
    await sleep(200);
  });
  await isLocked;
  const put = await send('PUT', path, { body: { email: 'a@example.org', name: 'B' } });
  await holding;
  const [, waited, total] = partsOf(put.headers['server-timing']);
  t.ok(waited! >= 100, `${waited} ms for the database`);
  t.ok(total! >= waited!);
});

t.test('each of the requests that share a statement waited for it', async (t) => {
  const { send } = await testService(t, { SERVER_TIMING: 'on' });
  const { json } = await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const responses = await Promise.all(Array.from({ length: 20 }, () => send('GET', `/users/${json.id}`)));
  for (const { headers } of responses) t.ok(partsOf(headers['server-timing'])[1]! > 0);
});

t.test('how long a credential took, valid or not', async (t) => {
  const { send } = await testService(t, { SERVER_TIMING: 'on', AUTH: 'basic', BASIC_INSECURE: 'loopback' });
  const authorization = `Basic ${Buffer.from('a@example.org:wrong-password').toString('base64')}`;
  const refused = await send('GET', '/users', { headers: { authorization } });
  t.equal(refused.status, 401);
  const [auth, , total] = partsOf(refused.headers['server-timing']);
  t.ok(auth! > 1, 'scrypt takes its time');
  t.ok(total! >= auth!);
});
