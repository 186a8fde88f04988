import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { driverUrl, serversOf } from '../../../src/database-url.js';
import { Dialler } from '../../../src/db/pool/host-dialler.js';
import { HostOrder } from '../../../src/db/pool/host-order.js';
import { freePort } from '../../../src/process/listen.js';
import { testProxy } from '../../support/proxy.js';
import { testDatabase, testService } from '../../support/service.js';

const SEVERAL = 'postgres://u:p%40@a:1,b,10.0.0.1:3/d?sslmode=disable';

t.test('a URL with several hosts is one URL for each', async (t) => {
  t.same(serversOf(SEVERAL), {
    urls: [
      'postgres://u:p%40@a:1/d?sslmode=disable',
      'postgres://u:p%40@b/d?sslmode=disable',
      'postgres://u:p%40@10.0.0.1:3/d?sslmode=disable',
    ],
    requiresPrimary: true,
  });
  t.same(serversOf('postgres://a/d'), { urls: ['postgres://a/d'], requiresPrimary: false });
  t.same(serversOf('postgres://a/d?target_session_attrs=read-write'), {
    urls: ['postgres://a/d'],
    requiresPrimary: true,
  });
  t.equal(driverUrl(SEVERAL), `${SEVERAL}&target_session_attrs=primary`);
  t.equal(driverUrl('postgres://a,b/d'), 'postgres://a,b/d?target_session_attrs=primary');
  t.equal(driverUrl('postgres://a/d'), 'postgres://a/d');
  for (const text of [
    'http://a/d',
    'postgres://a,,b/d',
    'postgres://a:x,b/d',
    'postgres://[::1]:1,b/d',
    'postgres://a,b/d?target_session_attrs=standby',
    `postgres://${'a,'.repeat(16)}a/d`,
    'postgres://u:%@a/d',
  ])
    t.equal(serversOf(text), undefined, text);
});

/** The address of a server that accepts connections and never responds. */
async function silentServer(t: Test): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

/** A URL with other hosts before its own. */
const behind = (url: string, ...hosts: string[]) => url.replace(/@/, `@${hosts.join(',')},`);

t.test('a service finds its database behind hosts that refuse or do not respond', async (t) => {
  const closed = `127.0.0.1:${await freePort({ host: '127.0.0.1', port: 0, setting: 'PORT' })}`;
  const url = behind(await testDatabase(t), closed, await silentServer(t));
  const service = await testService(t, { DATABASE_URL: url });
  t.equal((await service.send('POST', '/items', { body: { name: 'Lamp' } })).status, 201);
});

/** The address of a server in front of another, whose connections take longer than the interval between attempts. */
async function slowServer(t: Test, url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const server = createServer((socket) => {
    const timer = setTimeout(() => {
      const target = connect(Number(port), hostname);
      target.on('error', () => socket.destroy()).pipe(socket);
      socket.pipe(target);
    }, 1200);
    socket.on('error', () => undefined).on('close', () => clearTimeout(timer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

t.test('a slow host is not given up because the others refuse', async (t) => {
  const closed = `127.0.0.1:${await freePort({ host: '127.0.0.1', port: 0, setting: 'PORT' })}`;
  const database = new URL(await testDatabase(t));
  const slow = await slowServer(t, database.href);
  const hosts = new HostOrder(database.href.replace(database.host, `${closed},${slow},${closed}`));
  const connection = await new Dialler({ hosts, settings: {} }, () => undefined).dial(10_000);
  t.equal((await connection.sql`select 1 as one`)[0]!.one, 1);
  t.equal(new URL(hosts.urls[0]!).host, slow, 'it is attempted first from now on');
  await connection.end();
});

t.test('it follows from a host that is lost to another', async (t) => {
  const database = await testDatabase(t);
  const [first, second] = [await testProxy(t, database), await testProxy(t, database)];
  const service = await testService(t, { DATABASE_URL: behind(second.url, new URL(first.url).host) });
  const create = async () => (await service.send('POST', '/items', { body: { name: 'Lamp' } })).status;
  t.equal(await create(), 201);
  first.cut();
  const statuses = new Set<number>();
  while (!statuses.has(201)) statuses.add(await create());
  t.same(
    [...statuses].filter((status) => ![201, 503].includes(status)),
    [],
  );
  second.cut();
  await first.restore();
  statuses.clear();
  while (!statuses.has(201)) statuses.add(await create());
  t.same(
    [...statuses].filter((status) => ![201, 503].includes(status)),
    [],
  );
});
