import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { startMessage } from '../../src/start/start-message.js';
import { claimPort } from '../support/claimed-port.js';
import { dataFolder, isAlive, type ServiceProcess, serverPid, startProcess } from '../support/process.js';
import { freshService, SERVER_URL, send, testDatabase } from '../support/service.js';
import { readSettings } from '../support/settings.js';
import { openSql } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

t.jobs = 3;

async function stops(t: Test, service: ServiceProcess): Promise<void> {
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
}

const isRefusing = (url: string) =>
  send(url, 'GET', '/users').then(
    () => false,
    () => true,
  );

t.test(
  'it responds, finishes a request in flight, closes an idle connection, and ends in order',
  async (t) => {
    const patience = { SHUTDOWN_MS: '600000', BODY_MIN_RATE: '0' };
    const service = startProcess(t, { DATABASE_URL: await testDatabase(t), ...patience });
    const url = await service.ready();
    const ann = await send(url, 'POST', '/users', { body: { email: 'ann@example.org', name: 'Ann' } });
    t.equal((await send(url, 'GET', `/users/${ann.json.id}`)).json.name, 'Ann');
    t.equal((await send(url, 'GET', '/nowhere')).status, 404);
    const { hostname, port } = new URL(url);
    const idle = net.connect(Number(port), hostname);
    await once(idle, 'connect');
    const closed = once(idle.resume(), 'close');

    const body = JSON.stringify({ email: 'a@example.org', name: 'A' });
    const fields = { 'content-type': 'application/json', expect: '100-continue' };
    const headers = { ...fields, 'content-length': body.length };
    const agent = new http.Agent({ keepAlive: true });
    t.teardown(() => agent.destroy());
    const request = http.request(`${url}/users`, { method: 'POST', headers, agent });
    request.flushHeaders();
    await once(request, 'continue');
    service.child.kill('SIGTERM');
    await until('it takes no more connections', () => isRefusing(url));
    await closed;
    request.end(body);
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.resume();
    t.equal(response.statusCode, 201);
    t.equal(response.headers.connection, 'close');
    t.equal(await service.ended, 0);
    t.equal(service.stderr(), '');
  },
);

/** Sends a request of which the body does not come. */
async function unfinished(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname).on('error', () => undefined);
  const fields = 'Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue';
  socket.write(`POST /users HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`);
  await once(socket, 'data');
}

t.test('a second signal ends it at once, with the code of the signal', async (t) => {
  const patience = { SHUTDOWN_MS: '600000', BODY_MIN_RATE: '0' };
  const service = startProcess(t, { DATABASE_URL: await testDatabase(t), ...patience });
  const url = await service.ready();
  await unfinished(url);
  service.child.kill('SIGTERM');
  await until('it takes no more connections', () => isRefusing(url));
  t.equal(service.child.exitCode, null, 'the first waits for what is in flight');
  service.child.kill('SIGINT');
  t.equal(await service.ended, 130);
});

t.test('with SHUTDOWN_DELAY_MS it goes on for a while, and says that it is ending', async (t) => {
  const DATABASE_URL = await testDatabase(t);
  const service = startProcess(t, { DATABASE_URL, SHUTDOWN_DELAY_MS: '600000' });
  const url = await service.ready();
  service.child.kill('SIGTERM');
  const look = () => send(url, 'GET', '/readyz');
  const ready = await until('it says so', look, ({ status }) => status === 503);
  t.same(ready.json, { status: 'draining' });
  const created = await send(url, 'POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  t.same([created.status, created.headers.connection], [201, 'close']);
  t.equal(service.child.exitCode, null);

  const brief = startProcess(t, { DATABASE_URL, SHUTDOWN_DELAY_MS: '100', SHUTDOWN_MS: '100' });
  await unfinished(await brief.ready());
  brief.child.kill('SIGTERM');
  t.equal(await brief.ended, 0, 'after the delay it cuts off a request that does not end');
});

/** A database without one of the triggers of items. */
async function withoutTrigger(t: Test): Promise<string> {
  const url = await testDatabase(t);
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  const [trigger] = await sql`
    select tgname from pg_trigger where tgrelid = 'items'::regclass and not tgisinternal order by tgname limit 1`;
  await sql.unsafe(`drop trigger ${trigger!.tgname} on items`);
  await sql.end();
  return url;
}

t.test('what prevents a start has its exit code and its reason', async (t) => {
  const inUse = net.createServer().listen(0, '127.0.0.1');
  t.teardown(() => inUse.close());
  await once(inUse, 'listening');
  const { port } = inUse.address() as net.AddressInfo;
  const away = `postgres://u:secret@127.0.0.1:${await claimPort(t)}/d`;
  const taken = `^port ${port} of 127\\.0\\.0\\.1 is already in use: set`;
  const rows: [env: Record<string, string>, code: number, line: RegExp][] = [
    [{ PORT: String(port) }, 1, new RegExp(`${taken} PORT to another$`)],
    [{ METRICS_PORT: String(port) }, 1, new RegExp(`${taken} METRICS_PORT to another$`)],
    [{ HOST: '192.0.2.1', AUTH: 'none' }, 1, /^cannot listen on 192\.0\.2\.1: /],
    [{ BASIC_SCOPES: 'item:read' }, 78, /^BASIC_SCOPES: `item:read` is not a scope: there are users:read, /],
    [{ DATABASE_URL: await withoutTrigger(t), MIGRATE: 'check' }, 78, /items.*attach_collection/s],
  ];
  for (const [env, exitCode, line] of rows) {
    const error = (await freshService(t, env).catch((error: unknown) => error)) as Error;
    t.match(error, { exitCode, message: line }, `${line}`);
  }
  const service = startProcess(t, { DATABASE_URL: away });
  t.equal(await service.ended, 69);
  t.equal(service.stdout(), '', 'nothing on the standard output');
  t.match(service.stderr(), /^plinth: the database cannot be reached: .*ECONNREFUSED[^\n]*\n$/, 'one line');
  t.notMatch(service.stderr(), 'secret');
});

t.test('a start without AUTH says for which hosts it responds', async (t) => {
  const open = { HOST: '0.0.0.0', AUTH: 'none' };
  const rows: [env: Record<string, string>, says: RegExp][] = [
    [{}, /AUTH=none: every client may read and write everything; hosts: localhost\n/],
    [open, /everything; hosts: only localhost; for other clients set ALLOWED_HOSTS to /],
    [{ ...open, ALLOWED_HOSTS: 'b.example' }, /everything; hosts: localhost, b\.example\n/],
  ];
  const started = { url: 'http://localhost', run: async () => [] };
  for (const [env, says] of rows)
    t.match(await startMessage([], readSettings({ ...env, DATABASE_URL: SERVER_URL }), started, [], 0), says);
});

t.test('invalid configuration ends it with 78, every fault reported and nothing started', async (t) => {
  const folder = await dataFolder(t);
  const DATA_DIR = join(folder, 'data');
  const bad = { PORT: '70000', LOG_LEVEL: 'loud', DB_CONNECTIONS: '0', HOST: '0.0.0.0' };
  const service = startProcess(t, { DATA_DIR, ...bad });
  t.equal(await service.ended, 78);
  t.equal(service.stdout(), '');
  const lines = service.stderr().trim().split('\n');
  t.equal(lines.length, 4);
  for (const name of Object.keys(bad))
    t.equal(lines.filter((line) => line.startsWith(`plinth: ${name} `)).length, 1, name);
  t.notOk(existsSync(DATA_DIR));
});

t.test('a signal while it starts ends it, and leaves no server', async (t) => {
  const folder = await dataFolder(t);
  const service = startProcess(t, { DATA_DIR: folder });
  const isMade = () => readdirSync(folder).some((name) => name.startsWith('.init-'));
  await until('the cluster is being made', isMade);
  await stops(t, service);
  t.equal(service.stdout(), '');

  const again = startProcess(t, { DATA_DIR: folder });
  const pid = await until('the server is being started', () => serverPid(folder));
  await stops(t, again);
  await until('the server ends', () => !isAlive(pid));
});
