import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { claimPort } from '../support/claimed-port.js';
import { migratedFolder } from '../support/migrated-folder.js';
import { dataFolder, isAlive, type ServiceProcess, serverPid, startProcess } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import { openSql } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { until } from '../support/until.js';

t.jobs = 3;

/** Passes if the service ends by itself with one line and nothing else. */
async function isRefused(t: Test, service: ServiceProcess, code: number, line: RegExp): Promise<void> {
  t.equal(await service.ended, code, 'exit code');
  t.equal(service.stdout(), '', 'nothing on the standard output');
  t.match(service.stderr(), line);
  t.match(service.stderr(), /^plinth: [^\n]+\n$/, 'one line');
}

async function stops(t: Test, service: ServiceProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  service.child.kill(signal);
  t.equal(await service.ended, 0, `${signal} ends it with 0`);
}

const isRefusing = (url: string) =>
  send(url, 'GET', '/users').then(
    () => false,
    () => true,
  );

for (const signal of some(['SIGTERM', 'SIGINT'] as const, 1)) {
  t.test(`it says where it listens, responds, and ends in order on ${signal}`, async (t) => {
    const service = startProcess(t, { DATABASE_URL: await testDatabase(t) });
    const url = await service.ready();
    const created = await send(url, 'POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
    t.equal(created.status, 201);
    t.equal((await send(url, 'GET', `/users/${created.json.id}`)).json.name, 'A');
    t.equal((await send(url, 'GET', '/nowhere')).status, 404);
    await stops(t, service, signal);
    t.match(
      service.stdout(),
      /^Plinth is ready on http:\/\/127\.0\.0\.1:\d+\n( {2}\w+ +[^\n]+\n){4}(\n.*Goodbye\.\n)?$/,
    );
    t.equal(service.stderr(), '', 'and nothing else');
    t.ok(await isRefusing(url));
  });
}

t.test('a request that is in flight is finished, an idle connection is closed', async (t) => {
  const patience = { SHUTDOWN_MS: '600000', BODY_MIN_RATE: '0' };
  const service = startProcess(t, { DATABASE_URL: await testDatabase(t), ...patience });
  const url = await service.ready();
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
});

/** Sends a request of which the body does not come. */
async function unfinished(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname).on('error', () => undefined);
  const fields = 'Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue';
  socket.write(`POST /users HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`);
  await once(socket, 'data');
}

t.test('a request that does not end is cut off after the time that SHUTDOWN_MS gives', async (t) => {
  const service = startProcess(t, { DATABASE_URL: await testDatabase(t), SHUTDOWN_MS: '100' });
  await unfinished(await service.ready());
  await stops(t, service);
});

const CODES = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

for (const [signal, code] of some(CODES, 1)) {
  t.test(`a second ${signal} ends it at once, with ${code}`, async (t) => {
    const patience = { SHUTDOWN_MS: '600000', BODY_MIN_RATE: '0' };
    const service = startProcess(t, { DATABASE_URL: await testDatabase(t), ...patience });
    const url = await service.ready();
    await unfinished(url);
    service.child.kill(signal);
    await until('it takes no more connections', () => isRefusing(url));
    t.equal(service.child.exitCode, null, 'the first waits for what is in flight');
    service.child.kill(signal);
    t.equal(await service.ended, code);
  });
}

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

  const brief = startProcess(t, { DATABASE_URL, SHUTDOWN_DELAY_MS: '100' });
  await brief.ready();
  brief.child.kill('SIGTERM');
  t.equal(await brief.ended, 0, 'it ends after the delay');
});

t.test('a port that is already in use is reported in one line', async (t) => {
  const inUse = net.createServer().listen(0, '127.0.0.1');
  t.teardown(() => inUse.close());
  await once(inUse, 'listening');
  const { port } = inUse.address() as net.AddressInfo;
  const service = startProcess(t, { DATABASE_URL: await testDatabase(t), PORT: String(port) });
  await isRefused(t, service, 1, new RegExp(`port ${port} of 127\\.0\\.0\\.1 is already in use`));
});

t.test('a host that is not of this machine is reported in one line', async (t) => {
  const env = { DATABASE_URL: await testDatabase(t), HOST: '192.0.2.1', AUTH: 'none' };
  await isRefused(t, startProcess(t, env), 1, /cannot listen on 192\.0\.2\.1: /);
});

t.test('a start without AUTH says for which hosts it responds', async (t) => {
  const DATABASE_URL = await testDatabase(t);
  const line = async (env: Record<string, string>) => {
    const service = startProcess(t, { DATABASE_URL, ALLOWED_HOSTS: '', ...env });
    await service.ready();
    return service.stdout();
  };
  const open = { HOST: '0.0.0.0', AUTH: 'none' };
  const rows: [env: Record<string, string>, says: RegExp][] = [
    [{}, /AUTH=none: every client may read and write everything; hosts: localhost\n/],
    [open, /everything; hosts: only localhost; for other clients set ALLOWED_HOSTS to /],
    [{ ...open, ALLOWED_HOSTS: 'b.example' }, /everything; hosts: localhost, b\.example\n/],
  ];
  for (const [env, says] of some(rows, 1)) t.match(await line(env), says);
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

t.test('a misspelled setting is a warning, once for all workers', async (t) => {
  const env = { PROT: '5', WORKERS: '2' };
  const service = startProcess(t, { DATABASE_URL: await testDatabase(t), ...env });
  await service.ready();
  const count = (text: string) => service.stdout().split(text).length - 1;
  t.equal(count('PROT is not a setting'), 1);
});

t.test('a database that cannot be used is reported in one line', async (t) => {
  const DATABASE_URL = `postgres://u:secret@127.0.0.1:${await claimPort(t)}/d`;
  const away = startProcess(t, { DATABASE_URL });
  await isRefused(t, away, 69, /the database cannot be reached: .*ECONNREFUSED/);
  t.notMatch(away.stderr(), /secret/);

  const old = await testDatabase(t, true);
  const sql = openSql(old, { max: 1 });
  await sql.unsafe('create schema old');
  await sql.unsafe(`create function old.current_setting(text) returns text language sql return '140012'`);
  const name = new URL(old).pathname.slice(1);
  await sql.unsafe(`alter database ${name} set search_path = old, pg_catalog, public`);
  await sql.end();
  await isRefused(t, startProcess(t, { DATABASE_URL: old }), 69, /PostgreSQL 14 is too old/);
});

t.test('without a database it brings its own, which survives that the service is killed', async (t) => {
  const folder = await migratedFolder(t);
  const first = startProcess(t, { DATA_DIR: folder });
  const url = await first.ready();
  const created = await send(url, 'POST', '/users', { body: { email: 'e@example.org', name: '\u00c9va' } });
  t.equal(created.status, 201);
  first.child.kill('SIGKILL');
  await first.ended;

  const second = startProcess(t, { DATA_DIR: folder });
  const found = await send(await second.ready(), 'GET', `/users/${created.json.id}`);
  t.equal(found.json.name, '\u00c9va');
  const pid = serverPid(folder)!;
  await stops(t, second);
  t.notOk(isAlive(pid), 'the server ends with its service');
  t.equal(second.stderr(), '');
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

t.test('a data folder that cannot be used is reported in one line', async (t) => {
  const DATA_DIR = join(t.testdir({ file: '' }), 'file');
  await isRefused(t, startProcess(t, { DATA_DIR }), 69, /DATA_DIR .* cannot be written/);
});
