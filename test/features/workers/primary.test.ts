import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { backOff } from '../../../src/features/workers/supervisor.js';
import { TRANSPORTS, testPostgres } from '../../faults/postgres.js';
import { authority, withoutOpenssl } from '../../support/certificates.js';
import { claimPort } from '../../support/claimed-port.js';
import { plinth } from '../../support/command.js';
import { migratedFolder } from '../../support/migrated-folder.js';
import { isAlive, type ServiceProcess, serverPid, startProcess } from '../../support/process.js';
import { send, testDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until, untilAtLeast } from '../../support/until.js';
import { scrape } from '../../telemetry/scraped.js';

t.jobs = 2;

if (process.platform !== 'linux') {
  t.pass('the workers are found by /proc');
  process.exit(0);
}

/** The processes that a service has started: its workers, when its database is another's. */
function workersOf({ child }: ServiceProcess): number[] {
  const text = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  const pids = text.split(' ').map(Number);
  return pids.filter((pid) => pid > 0 && isAlive(pid));
}

/** Waits until there are three workers, none of which is one of those before. */
const replaced = (service: ServiceProcess, before: readonly number[]) =>
  until('there are three others', () => {
    const now = workersOf(service);
    return now.length === 3 && !now.some((pid) => before.includes(pid));
  });

const secured = await testPostgres(t, TRANSPORTS.at(-1));

async function start(t: Test, env: Record<string, string> = {}) {
  // Nothing but the test itself ends a request that it holds back.
  const patience = { BODY_MIN_RATE: '0', REQUEST_TIMEOUT_MS: '3600000', SHUTDOWN_MS: '600000' };
  const DATABASE_URL = env.DATABASE_URL ?? (await testDatabase(t));
  const service = startProcess(t, { DATABASE_URL, WORKERS: '3', PORT: '0', ...patience, ...env });
  const url = await service.ready();
  return { service, url, pids: workersOf(service) };
}

const statusOf = async (url: string, path = '/users?limit=1') => (await send(url, 'GET', path)).status;

const responds = (url: string) => until('it responds', () => statusOf(url).catch(() => 0), 200);

/** Whether nothing listens: a connection that is accepted at the last moment may get no response before the service has ended. */
function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  return new Promise((resolve) => {
    socket.on('connect', () => resolve(false)).on('error', () => resolve(true));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}

interface Load {
  readonly responses: () => number;
  readonly failures: string[];
  /** Resolves when every connection has ended: after a response with `Connection: close`, or refused. */
  readonly over: Promise<unknown>;
  stop(): void;
}

/** Sends requests on so many persistent connections, on each the next one at once. */
function load(t: Test, url: string, connections: number): Load {
  const failures: string[] = [];
  let responses = 0;
  let stopped = false;
  const ask = async (): Promise<void> => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    while (!stopped) {
      const closes = await one(agent, url).catch((error: Error & { code?: string }) => {
        // Where nobody listens any more no request was taken.
        if (error.code !== 'ECONNREFUSED') failures.push(error.code ?? error.message);
        return true;
      });
      responses++;
      if (closes) break;
    }
    agent.destroy();
  };
  const over = Promise.all(Array.from({ length: connections }, ask));
  return {
    responses: () => responses,
    failures,
    over,
    stop: () => {
      stopped = true;
    },
  };
}

/** Gives whether the response ends its connection. */
async function one(agent: http.Agent, url: string): Promise<boolean> {
  const request = http.get(`${url}/users?limit=1`, { agent });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  for await (const _ of response);
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  return response.headers.connection === 'close';
}

/** A request whose body is awaited; gives how to end it, and its response. */
async function slowRequest(url: string) {
  const body = JSON.stringify({ email: 'a@example.org', name: 'A' });
  const length = { 'content-length': body.length, expect: '100-continue' };
  const headers = { 'content-type': 'application/json', ...length };
  const request = http.request(`${url}/users`, { method: 'POST', headers, agent: false });
  request.flushHeaders();
  await once(request, 'continue');
  const received = once(request, 'response') as Promise<[http.IncomingMessage]>;
  received.catch(() => undefined);
  return { end: () => request.end(body), received };
}

t.test('workers that are counted and replaced, one service for all', async (t) => {
  const { service, url, pids } = await start(t);

  await t.test('a scrape counts what all workers did', (t) => countsAll(t, url, url));

  await t.test('several workers share one port, said in one line', async (t) => {
    t.equal(pids.length, 3);
    t.match(service.stdout(), /^Plinth is ready on http:\/\/127\.0\.0\.1:\d+\n[\s\S]* workers +3\n/);
    const created = await send(url, 'POST', '/users', { body: { email: 'b@example.org', name: 'B' } });
    t.equal(created.status, 201);
    const path = `/users/${created.json.id}`;
    const all = await Promise.all(Array.from({ length: 12 }, () => statusOf(url, path)));
    t.same(new Set(all), new Set([200]));
  });

  await t.test('maintenance begins and ends for all, also for one that comes later', async (t) => {
    const seen = async () => new Set(await Promise.all(Array.from({ length: 12 }, () => statusOf(url))));
    const all = (status: number) =>
      until(`all respond with ${status}`, async () => {
        const statuses = await seen();
        return statuses.size === 1 && statuses.has(status);
      });
    service.child.kill('SIGUSR2');
    await all(503);
    process.kill(pids[0]!, 'SIGUSR2');
    process.kill(pids[0]!, 'SIGHUP');
    process.kill(pids[1]!, 'SIGKILL');
    await replaced(service, [pids[1]!]);
    await all(503);
    t.ok(isAlive(pids[0]!), 'a signal to one worker alone does nothing');
    t.same(await seen(), new Set([503]));
    service.child.kill('SIGUSR2');
    await all(200);
  });
});

// A service of its own: each of its workers has one of the first three connections.
t.test('a worker that gets a signal to stop finishes what it has, and is replaced', async (t) => {
  const { service, url, pids } = await start(t);
  const requests = await Promise.all(pids.map(() => slowRequest(url)));
  for (const pid of pids) process.kill(pid, 'SIGTERM');
  await untilAtLeast('others take new connections', () => workersOf(service).length, 3);
  requests[0]!.end();
  const [first] = await requests[0]!.received;
  first.resume();
  t.equal(first.statusCode, 201);
  await responds(url);
});

t.test('SIGTERM under load, with TLS to the database: not one request fails', async (t) => {
  const { service, url, pids } = await start(t, { DATABASE_URL: await secured.database() });
  await endsUnderLoad(t, service, url, 'SIGTERM');
  t.notOk(pids.some(isAlive), 'all have ended');
});

/** Ends a service under load: every request gets its response. */
async function endsUnderLoad(t: Test, service: ServiceProcess, url: string, signal: 'SIGTERM' | 'SIGINT') {
  const running = load(t, url, 24);
  await untilAtLeast('the load runs', () => running.responses(), 201);
  service.child.kill(signal);
  await running.over;
  t.same(running.failures, []);
  t.equal(await service.ended, 0);
  t.equal(service.stderr(), '');
}

t.test('workers that are killed under load, one service for all', async (t) => {
  const { service, url, pids } = await start(t);

  await t.test('one is replaced, and the others go on', async (t) => {
    const running = load(t, url, 24);
    await untilAtLeast('the load runs', () => running.responses(), 201);
    process.kill(pids[1]!, 'SIGKILL');
    await replaced(service, [pids[1]!]);
    const before = running.responses();
    await untilAtLeast('the load goes on', () => running.responses(), before + 100);
    running.stop();
    await running.over;
    t.ok(running.failures.length < 24, 'no more than what that worker had');
    t.match(service.stdout(), /"signal":"SIGKILL","waitMs":100,"msg":"a worker ended and is replaced"/);
    await responds(url);
  });

  await t.test('when all are killed at once they come back on the same port', async () => {
    const before = workersOf(service);
    for (const pid of before) process.kill(pid, 'SIGKILL');
    await replaced(service, before);
    await responds(url);
  });

  await t.test('SIGINT under load: not one request fails', (t) => endsUnderLoad(t, service, url, 'SIGINT'));
});

/** Requests on connections of their own, which are dealt out in turn, and what a scrape counts of them. */
async function countsAll(t: Test, url: string, scraped: string): Promise<void> {
  for (let n = 0; n < 9; n++) t.equal(await statusOf(url), 200);
  const { value } = await scrape(scraped);
  const labels = { method: 'GET', route: '/users', status: '200' };
  t.equal(value('http_server_request_duration_seconds_count', labels), 9);
  t.equal(value('plinth_db_queue_limit'), 3 * 2000);
}

t.test('a scrape of METRICS_PORT, and SHUTDOWN_MS cuts off a request that does not end', async (t) => {
  const port = String(await claimPort(t));
  const { service, url } = await start(t, { METRICS_PORT: port, SHUTDOWN_MS: '100' });
  await countsAll(t, url, `http://127.0.0.1:${port}`);
  await slowRequest(url);
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
});

t.test('waits before a worker is replaced are doubled, up to a bound', async (t) => {
  t.same([0, 1, 2, 3, 9, 10, 50, 5000].map(backOff), [100, 100, 200, 400, 25_600, 30_000, 30_000, 30_000]);
});

t.test('a second signal ends it at once', async (t) => {
  const { service, url, pids } = await start(t);
  await slowRequest(url);
  service.child.kill('SIGTERM');
  await until('it takes no more', () => isRefused(url));
  service.child.kill('SIGINT');
  t.equal(await service.ended, 130);
  await until('no worker is left', () => !pids.some(isAlive));
});

t.test('workers whose primary is gone finish what they have, and end', async (t) => {
  const { service, url, pids } = await start(t, { DATABASE_URL: await secured.database() });
  const { end, received } = await slowRequest(url);
  service.child.kill('SIGKILL');
  await until('the idle ones end', () => pids.filter(isAlive).length, 1);
  end();
  const [response] = await received;
  t.equal(response.statusCode, 201);
  await until('the last one ends', () => !pids.some(isAlive));
  t.equal(service.stderr(), '');
});

t.test('SIGHUP gives every worker the new certificate', { skip: withoutOpenssl }, async (t) => {
  const ca = authority(t);
  const [first, second] = [ca.sign('first'), ca.sign('second')];
  const { service, url } = await start(t, { TLS_CERT: first.certFile, TLS_KEY: first.keyFile });
  const { port } = new URL(url);
  const shown = async () => {
    const socket = tls.connect({ host: '127.0.0.1', port: Number(port), ca: ca.cert });
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return String(subject.CN);
  };
  const all = async () => new Set(await Promise.all(Array.from({ length: 9 }, shown)));
  t.same(await all(), new Set(['first']));
  copyFileSync(second.certFile, first.certFile);
  copyFileSync(second.keyFile, first.keyFile);
  service.child.kill('SIGHUP');
  await until('all show the new one', async () => {
    const names = await all();
    return names.size === 1 && names.has('second');
  });
});

t.test('connections beyond MAX_CONNECTIONS of every worker are closed', async (t) => {
  const { url } = await start(t, { MAX_CONNECTIONS: '1' });
  const { hostname, port } = new URL(url);
  let closed = 0;
  const request = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';
  const sockets = Array.from({ length: 8 }, () => net.connect(Number(port), hostname));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (const socket of sockets) {
    socket.on('error', () => undefined).on('close', () => closed++);
    socket.resume().write(request);
  }
  await until('five are closed', () => closed, 5);
});

t.test('what prevents its start is reported once', async (t) => {
  const DATABASE_URL = await testDatabase(t);
  const failsWith = async (env: Record<string, string>, code: number, line: RegExp) => {
    const service = startProcess(t, { DATABASE_URL, WORKERS: '3', ...env });
    t.equal(await service.ended, code);
    t.match(service.stderr(), line);
    t.match(service.stderr(), /^plinth: [^\n]+\n$/, 'one line');
    t.equal(service.stdout(), '');
  };
  const inUse = net.createServer().listen(0, '127.0.0.1');
  t.teardown(() => inUse.close());
  await once(inUse, 'listening');
  const { port } = inUse.address() as net.AddressInfo;
  await failsWith({ PORT: String(port) }, 1, /port \d+ of 127\.0\.0\.1 is already in use/);
  await failsWith({ TLS_CERT: '/no/such', TLS_KEY: '/no/such' }, 1, /TLS_KEY \/no\/such cannot be read/);
  await failsWith({ WORKERS: '0' }, 78, /WORKERS must be an integer from 1 to 256, or `auto`/);
});

t.test('one embedded database for all, and keys beside it', async (t) => {
  const DATA_DIR = await migratedFolder(t);
  const service = startProcess(t, { DATA_DIR, WORKERS: '2', AUTH: 'api-key' });
  const url = await service.ready();
  const pid = serverPid(DATA_DIR)!;
  const args = ['keys', 'create', '--label', 'a', '--subject', 'a', '--scopes', 'users:read,users:write'];
  const made = await plinth(t, args, { DATA_DIR, WORKERS: '2' });
  t.equal(made.code, 0);
  const headers = { 'x-api-key': /^key: {2}(\S+)$/m.exec(made.out)![1]! };
  const created = await send(url, 'POST', '/users', { headers, body: { email: 'a@example.org', name: 'A' } });
  t.equal(created.status, 201);
  const path = `/users/${created.json.id}`;
  for (let count = 0; count < 4; count++) t.equal((await send(url, 'GET', path, { headers })).status, 200);
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  t.notOk(isAlive(pid), 'the server ends with its service');
  t.equal(service.stderr(), '');
});
