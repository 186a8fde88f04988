import { once } from 'node:events';
import net from 'node:net';
import { serversOf } from '../../src/database-url/servers.js';
import { startWithDatabase } from '../../src/db/wait-for-database.js';
import { createLog } from '../../src/telemetry/log.js';
import { TRANSPORTS, testPostgres, type Victim } from '../faults/postgres.js';
import { claimPort } from '../support/claimed-port.js';
import { startProcess } from '../support/process.js';
import { SERVER_URL, send, testDatabase } from '../support/service.js';
import t from '../support/test.js';
import { some } from '../support/thorough.js';
import { until } from '../support/until.js';

t.jobs = 1;

const WAITING = { DB_START_MS: '3600000' };
const MESSAGE = 'the start waits for the database';

const victims = new Map<string, Victim>();

async function victimOf(transport: 'plain' | 'TLS'): Promise<Victim> {
  const victim = victims.get(transport) ?? (await testPostgres(t, transport));
  victims.set(transport, victim);
  return victim;
}

for (const [workers, transport] of [
  ['1', 'plain'],
  ['1', TRANSPORTS.at(-1)!],
  ['2', TRANSPORTS.at(-1)!],
] as const)
  t.test(`WORKERS=${workers}: a start before its database (${transport}) waits, and says so`, async (t) => {
    const victim = await victimOf(transport);
    await victim.stop();
    const port = String(await claimPort(t));
    const service = startProcess(t, { ...WAITING, DATABASE_URL: victim.url, PORT: port, WORKERS: workers });
    const url = `http://127.0.0.1:${port}`;
    const look = () => send(url, 'GET', '/healthz').catch(() => undefined);
    const health = await until('the port is open', look);
    t.match(health, { status: 200, json: { status: 'alive' } });
    const headers = { 'retry-after': /^1$/ };
    t.match(await send(url, 'GET', '/readyz'), { status: 503, json: { status: 'database' }, headers });
    const json = { error: { message: 'The service waits for its database.' } };
    for (const path of ['/users', '/api/v1/items/x', '/nowhere'])
      t.match(await send(url, 'GET', path), { status: 503, json, headers: { 'retry-after': /\d/ } });
    await until('it is logged', () => service.stdout().includes(MESSAGE));
    t.notMatch(service.stdout(), serversOf(victim.url).servers[0].password, 'without the password');
    await victim.start();
    t.equal(await service.ready(), url);
    t.equal((await send(url, 'GET', '/readyz')).status, 200);
    t.equal((await send(url, 'POST', '/items', { body: { name: 'Lamp' } })).status, 201);
    service.child.kill('SIGTERM');
    t.equal(await service.ended, 0);
  });

t.test('a signal ends the wait, and so does its limit', async (t) => {
  const closed = `postgres://u:p@127.0.0.1:${await claimPort(t)}/d`;
  const waiting = startProcess(t, { ...WAITING, DATABASE_URL: closed });
  await until('it waits', () => waiting.stdout().includes(MESSAGE));
  waiting.child.kill('SIGTERM');
  t.equal(await waiting.ended, 0);
  for (const limit of ['0', '200']) {
    const limited = startProcess(t, { DATABASE_URL: closed, DB_START_MS: limit });
    t.equal(await limited.ended, 69);
    t.match(limited.stderr(), /the database cannot be reached: /);
    t.equal(limited.stdout().includes(MESSAGE), limit !== '0');
  }
});

t.test('what waiting does not cure ends the start at once', async (t) => {
  const database = await testDatabase(t);
  const { password } = serversOf(database).servers[0];
  for (const [url, message] of [
    [database.replace(password, 'wrong'), /rejects the login/],
    [database.replace(/\/[^/]*$/, '/missing'), /"missing" does not exist: create it/],
    [`${database}?sslmode=require`, /has no TLS/],
  ] as const) {
    const service = startProcess(t, { ...WAITING, DATABASE_URL: url });
    t.equal(await service.ended, 69);
    t.match(service.stderr(), message);
    t.notMatch(service.stdout(), MESSAGE);
  }
});

t.test('a server that starts up, has no free connection or shuts down is waited for', async (t) => {
  const { host, port } = serversOf(SERVER_URL).servers[0];
  const codes = ['57P03', '53300', '57P01'];
  const fields = (code: string) => Buffer.from(`SFATAL\0C${code}\0Mnot now\0\0`);
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    const code = codes.shift();
    if (code === undefined) {
      const target = net.connect(port, host).on('error', () => socket.destroy());
      return void socket.pipe(target).pipe(socket);
    }
    socket.once('data', () => {
      socket.once('data', () => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(fields(code).length + 4);
        socket.end(Buffer.concat([Buffer.from('E'), length, fields(code)]));
      });
      socket.write('N');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const url = new URL(SERVER_URL);
  url.port = String((server.address() as net.AddressInfo).port);
  const lines: string[] = [];
  const events: string[] = [];
  await startWithDatabase(
    { databaseUrl: String(url), dbStartMs: 3_600_000, dbTimeoutMs: 60_000 },
    createLog('warn', { write: (line) => lines.push(line) }),
    async () => {
      events.push('begin');
      return async () => void events.push('end');
    },
    async () => void events.push('start'),
  );
  t.equal(lines.length, 3);
  t.same(events, ['begin', 'end', 'start']);
});

for (const workers of ['1', '2'])
  t.test(`WORKERS=${workers}: a start begins again when a connection is lost meanwhile`, async (t) => {
    const target = new URL(await testDatabase(t));
    /** The number of connections that are opened before one is lost, after its first response. */
    let left = 0;
    const proxy = net.createServer((client) => {
      const server = net.connect(Number(target.port), target.hostname);
      const isLost = left-- === 0;
      for (const socket of [client, server]) socket.on('error', () => undefined);
      client.pipe(server);
      if (isLost) server.once('data', () => client.resetAndDestroy());
      else server.pipe(client);
      client.once('close', () => server.destroy());
      server.once('close', () => client.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    t.teardown(() => void proxy.close());
    const url = new URL(target);
    url.host = `127.0.0.1:${(proxy.address() as net.AddressInfo).port}`;
    for (const at of some([0, 1, 2, 3, 4, 6, 8, 10], workers === '1' ? 3 : 2)) {
      left = at;
      const service = startProcess(t, { ...WAITING, DATABASE_URL: url.href, WORKERS: workers });
      const base = await service.ready();
      t.equal((await send(base, 'GET', '/readyz')).status, 200, `connection ${at + 1} was lost`);
      service.child.kill('SIGTERM');
      t.equal(await service.ended, 0);

      left = at;
      const impatient = startProcess(t, { DB_START_MS: '0', DATABASE_URL: url.href, WORKERS: workers });
      const isReady = await impatient.ready().then(
        () => true,
        () => false,
      );
      if (isReady) impatient.child.kill('SIGTERM');
      t.equal(await impatient.ended, isReady ? 0 : 69, impatient.stderr());
    }
  });
