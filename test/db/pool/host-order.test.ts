import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { Dialler } from '../../../src/db/pool/host-dialler.js';
import { HostOrder } from '../../../src/db/pool/host-order.js';
import { claimPort } from '../../support/claimed-port.js';
import { testProxy } from '../../support/proxy.js';
import { testDatabase, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';

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
  const closed = `127.0.0.1:${await claimPort(t)}`;
  const url = behind(await testDatabase(t), closed, await silentServer(t));
  const service = await testService(t, { DATABASE_URL: url });
  t.equal((await service.send('POST', '/items', { body: { name: 'Lamp' } })).status, 201);
});

/** The address of a server in front of another, which serves the third connection, and no other. */
async function slowServer(t: Test, url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  let count = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (++count !== 3) return;
    const target = connect(Number(port), hostname);
    target.on('error', () => socket.destroy()).pipe(socket);
    socket.pipe(target);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

t.test('a slow host is not given up because the others refuse', async (t) => {
  const closed = `127.0.0.1:${await claimPort(t)}`;
  const database = new URL(await testDatabase(t));
  const slow = await slowServer(t, database.href);
  const hosts = new HostOrder(database.href.replace(database.host, `${closed},${slow},${closed}`));
  const connection = await new Dialler({ hosts, settings: {} }, () => undefined).dial(60_000);
  t.equal((await connection.sql`select 1 as one`)[0]!.one, 1);
  t.equal(hosts.servers[0]!.name, slow, 'it is attempted first from now on');
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
