import { startProcess } from '../support/process.js';
import { testProxy } from '../support/proxy.js';
import { send, testDatabase, testService } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

t.test('health without a credential, outside every limit', async (t) => {
  const { send } = await testService(t, { AUTH: 'api-key', RATE_LIMIT: '1/60' });
  for (let n = 0; n < 5; n++) {
    const alive = await send('GET', '/healthz');
    t.same([alive.status, alive.json], [200, { status: 'alive' }]);
    t.equal(alive.headers['cache-control'], 'no-store');
    const ready = await send('GET', '/readyz');
    t.same([ready.status, ready.json], [200, { status: 'ready' }]);
  }
  t.equal((await send('HEAD', '/readyz')).status, 200);
  t.equal((await send('POST', '/readyz')).status, 405);
});

t.test('a database that is away is reported, and so is its return', async (t) => {
  const proxy = await testProxy(t, await testDatabase(t));
  const { send } = await testService(t, { DATABASE_URL: proxy.url });
  const state = async () => (await send('GET', '/readyz')).json.status as string;
  t.equal(await state(), 'ready');
  proxy.cut();
  await until('the loss shows', state, (seen) => seen === 'database');
  const away = await send('GET', '/readyz');
  t.same([away.status, away.headers['retry-after']], [503, '1']);
  t.equal((await send('GET', '/healthz')).status, 200, 'which is no reason to end the process');
  await proxy.restore();
  await until('it is ready again', state, (seen) => seen === 'ready');
  t.pass('ready again');
});

t.test('a schema older than the service is not ready, a newer one is', async (t) => {
  const { send, db } = await testService(t);
  await db.run("insert into migrations (name, checksum) values ('9999_next.sql', '')", []);
  t.equal((await send('GET', '/readyz')).json.status, 'ready');
  const older = await testService(t);
  await older.db.run("delete from migrations where name > '0001'", []);
  t.equal((await older.send('GET', '/readyz')).json.status, 'schema');
});

t.test('maintenance: 503 to all else, begun and ended by SIGUSR2', async (t) => {
  const databaseUrl = await testDatabase(t);
  const { child, ready } = startProcess(t, {
    DATABASE_URL: databaseUrl,
    MAINTENANCE: 'on',
    HOST: '127.0.0.1',
  });
  const url = await ready();
  const status = async (path: string) => (await send(url, 'GET', path)).status;
  const items = await send(url, 'GET', '/items');
  t.equal(items.status, 503);
  t.equal(items.json.error.code, 'SERVICE_UNAVAILABLE');
  t.equal(items.headers['retry-after'], '60');
  t.same([await status('/healthz'), await status('/readyz')], [200, 503]);
  t.equal((await send(url, 'GET', '/readyz')).json.status, 'maintenance');
  child.kill('SIGUSR2');
  await until('maintenance ends', () => status('/items'), 200);
  t.equal(await status('/readyz'), 200);
  child.kill('SIGUSR2');
  await until('maintenance begins', () => status('/items'), 503);
  t.pass('and again');
});
