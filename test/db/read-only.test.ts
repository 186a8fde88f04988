import { once } from 'node:events';
import net from 'node:net';
import { serversOf } from '../../src/database-url/servers.js';
import { testPostgres } from '../faults/postgres.js';
import { testDatabase, testService } from '../support/service.js';
import { openSql, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

/** A balancer that leaves open what it has connected, and leads new connections to the server of `lead`'s URL. */
async function balancer(t: Test, url: string) {
  let target = serversOf(url).servers[0];
  const open = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(target.port, target.host);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => other.destroy());
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const own = new URL(url);
  own.hostname = '127.0.0.1';
  own.port = String((server.address() as net.AddressInfo).port);
  return {
    url: String(own),
    lead: (to: string) => {
      [target] = serversOf(to).servers;
    },
  };
}

/** A database on another server, with the name and the login of the one at `url`. */
async function twinOf(t: Test, url: string) {
  const { database, password } = serversOf(url).servers[0];
  const victim = await testPostgres(t);
  const admin = openSql(victim.url, { max: 1, onnotice: () => undefined });
  await admin.unsafe(`create database "${database}"`);
  await admin.unsafe(`alter role plinth password '${password}'`);
  await admin.end();
  const twin = new URL(url);
  twin.port = new URL(victim.url).port;
  const setReadOnly = async (on: boolean) => {
    const sql = sqlOf(t, String(twin), { max: 1, onnotice: () => undefined });
    await sql.unsafe(`alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
    await sql`select pg_reload_conf()`;
    await sql.end();
  };
  return { url: String(twin), setReadOnly };
}

t.test('a server that accepts no writes is reported, and left for one that does', async (t) => {
  const second = await testDatabase(t);
  const first = await twinOf(t, second);
  const between = await balancer(t, first.url);
  const service = await testService(t, { DATABASE_URL: between.url });
  const create = async (name: string) => (await service.send('POST', '/items', { body: { name } })).status;
  const ready = async () => {
    const { status, json } = await service.send('GET', '/readyz');
    return `${status} ${json.status}`;
  };
  t.equal(await create('on the first'), 201);
  t.equal((await service.send('GET', '/items?search=first')).json.length, 1);
  t.equal(await ready(), '200 ready');
  await first.setReadOnly(true);
  await until('writes are refused', async () => (await create('refused')) === 503);
  await until('it is reported', async () => (await ready()) === '503 read-only');
  t.equal((await service.send('GET', '/items?search=first')).json.length, 1, 'reads go on');
  await first.setReadOnly(false);
  await until('and its end', async () => (await ready()) === '200 ready');
  t.equal(await create('again on the first'), 201);

  // The first server stays up, and so would its connections.
  between.lead(second);
  await first.setReadOnly(true);
  await until('without a write, the service leaves it', async () => (await ready()) === '200 ready');
  const sql = openSql(second, { max: 1 });
  // The first accepts writes until its sessions have read the setting.
  await until('writes reach the second', async () => {
    await create('on the second');
    const items = await sql`select from items`;
    return items.length > 0;
  });
  await until('and so do searches', async () => {
    const { status, json } = await service.send('GET', '/items?search=on%20the');
    return (
      status === 200 && JSON.stringify(json.map(({ name }: { name: string }) => name)) === '["on the second"]'
    );
  });
  t.equal(
    (await service.send('GET', '/items?sort=created_at')).json.at(-1).name,
    'on the second',
    'and whole lists',
  );
  const events = await until(
    'and the feed',
    () => service.send('GET', '/events'),
    ({ status, text }) => status === 200 && text.includes('on the second'),
  );
  t.equal(events.status, 200);
});
