import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import bcrypt from 'bcrypt';
import { connect } from '../features/mcp/session.js';
import { authority, withoutOpenssl } from '../support/certificates.js';
import { claimPort } from '../support/claimed-port.js';
import { byKey, byPassword, PASSWORD } from '../support/credentials.js';
import { folderOf } from '../support/folder.js';
import { BUNDLED, startNode } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { until } from '../support/until.js';
import { words } from '../support/words.js';

t.jobs = 2;

const BUILD = fileURLToPath(new URL('../../../.ci/bundle.js', import.meta.url));

/** The bundle alone in a folder, without packages or SQL around it. */
const folder = folderOf(t);
// A run of many files has just made one.
if (BUNDLED === undefined) execFileSync(process.execPath, [BUILD, join(folder, 'dist')]);
else cpSync(dirname(BUNDLED), join(folder, 'dist'), { recursive: true });
const PLINTH = join(folder, 'dist/plinth.cjs');
const START = join(folder, 'dist/start.cjs');

const run = async (t: Test, args: readonly string[], env: Record<string, string>) => {
  const { ended, stdout, stderr } = startNode(t, args, env);
  return { code: await ended, out: stdout(), err: stderr() };
};

t.test('it is one file, and those that start it, check its health, and are loaded on demand', async (t) => {
  const files = words(`
    bcrypt.node health.cjs health.sh issuer-packages.cjs mcp-sdk.cjs plinth.cache plinth.cjs start.cjs
  `);
  t.same(readdirSync(join(folder, 'dist')).sort(), files);
});

t.test('what V8 has compiled of it is accepted by the Node that made it', async (t) => {
  // In a process of its own, since a cache is valid for the flags of V8 with which it was made.
  const text = `const { Script } = require('node:vm');
    const { readFileSync } = require('node:fs');
    const [filename, cache] = process.argv.slice(1);
    const cachedData = readFileSync(cache);
    console.log(new Script(readFileSync(filename, 'latin1'), { filename, cachedData }).cachedDataRejected);`;
  const ended = await run(t, ['-e', text, PLINTH, join(folder, 'dist/plinth.cache')], {});
  t.same(ended, { code: 0, out: 'false\n', err: '' });
});

t.test('it starts without that, and with what another Node has made, and knows its version', async (t) => {
  const dist = join(t.testdir(), 'dist');
  cpSync(join(folder, 'dist'), dist, { recursive: true });
  const start = join(dist, 'start.cjs');
  const help = { code: 0, out: /^usage: plinth/, err: '' };
  writeFileSync(join(dist, 'plinth.cache'), 'made elsewhere');
  t.match(await run(t, [start, '--help'], {}), help);
  rmSync(join(dist, 'plinth.cache'));
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  t.same(await run(t, [start, '--version'], {}), { code: 0, out: `plinth ${version}\n`, err: '' });
});

t.test('it contains the authorization server', async (t) => {
  const env = { AUTH: 'bearer', AUTH_SERVER: 'on', DATABASE_URL: await testDatabase(t, true) };
  const port = String(await claimPort(t));
  const issuer = `http://localhost:${port}`;
  await startNode(t, [START], { ...env, PORT: port, PUBLIC_URL: issuer }, folder).ready();
  const { json } = await send(issuer, 'GET', '/.well-known/openid-configuration');
  t.equal(json.issuer, issuer);
  const page = await send(issuer, 'GET', '/account');
  t.match(page, { status: 200, text: /to your account/ });
  const body = new URLSearchParams({ email: 'none@example.org', password: 'x' });
  t.equal((await fetch(`${issuer}/token`, { method: 'POST', body })).status, 400);
});

t.test('without the files that are loaded on demand, a setting says what is missing', async (t) => {
  const dist = join(t.testdir(), 'dist');
  cpSync(join(folder, 'dist'), dist, { recursive: true });
  for (const name of ['mcp-sdk.cjs', 'issuer-packages.cjs', 'bcrypt.node']) rmSync(join(dist, name));
  const start = join(dist, 'start.cjs');
  const env = { DATABASE_URL: await testDatabase(t), PORT: '0' };
  const agents = await run(t, [start], { ...env, MCP: 'on' });
  t.match(agents, { code: 1, err: /MCP=on needs the package @modelcontextprotocol\/sdk/ });
  const issuer = { AUTH: 'bearer', AUTH_SERVER: 'on', PUBLIC_URL: 'https://login.example.org' };
  t.match(await run(t, [start], { ...env, ...issuer }), {
    code: 1,
    err: /AUTH_SERVER=on needs the package oidc-provider/,
  });
  const url = await startNode(t, [start], env).ready();
  t.equal((await send(url, 'GET', '/items')).status, 200);
});

t.test('it serves agents', async (t) => {
  const env = { MCP: 'on', DATABASE_URL: await testDatabase(t), PORT: '0' };
  const url = await startNode(t, [START], env, folder).ready();
  const { client, call } = await connect(t, url);
  t.ok((await client.listTools()).tools.length > 0);
  t.match(await call('items_create', { record: { name: '' } }), { isError: true });
  t.match(await call('items_create', { record: { name: 'Lamp' } }), { isError: false });
});

const PROGRAMS = [
  [PLINTH, '1'],
  [START, '1'],
  [START, '2'],
] as const;

for (const [program, WORKERS] of some(PROGRAMS, 1)) {
  t.test(`${basename(program)} serves an empty database, WORKERS=${WORKERS}`, async (t) => {
    const DATABASE_URL = await testDatabase(t, true);
    const service = startNode(t, [program], { DATABASE_URL, PORT: '0', WORKERS });
    const url = await service.ready();
    const created = await send(url, 'POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
    t.equal(created.status, 201);
    t.equal((await send(url, 'GET', `/users/${created.json.id}`)).json.name, 'A');
    t.match(await send(url, 'POST', '/users', { body: { email: 'b' } }), {
      status: 400,
      json: { errors: [] },
    });
    t.equal((await send(url, 'GET', '/items?search=lamp&sort=name')).status, 200);
    t.equal((await send(url, 'GET', '/readyz')).status, 200);
    service.child.kill('SIGTERM');
    t.equal(await service.ended, 0);
    t.equal(service.stderr(), '');
  });
}

t.test('its commands make keys and load records, also with passwords, which it verifies', async (t) => {
  const env = { DATABASE_URL: await testDatabase(t) };
  const args = ['keys', 'create', '--label', 'a', '--subject', 'a', '--scopes', 'users:read'];
  const made = await run(t, [PLINTH, ...args], env);
  const [, key = ''] = /^key: {2}(\S+)$/m.exec(made.out) ?? [];
  t.equal(made.code, 0, made.err);
  const file = join(t.testdir(), 'users.json');
  const password_hash = await bcrypt.hash(PASSWORD, 4);
  const users = [{ email: 'a@example.org', name: 'A', password_hash }, { name: 'B' }];
  writeFileSync(file, JSON.stringify({ users }));
  t.match(await run(t, [PLINTH, 'import', file], env), { code: 1, out: 'users: 1 stored, 1 refused\n' });

  const bearer = { AUTH: 'api-key, bearer, basic', ISSUER: 'http://127.0.0.1:9', AUDIENCE: 'a' };
  const limits = { INSECURE: 'basic', RATE_LIMIT: '100/60', RATE_LIMIT_STORE: 'postgres' };
  const url = await startNode(t, [PLINTH, 'start'], { ...env, ...bearer, ...limits, PORT: '0' }).ready();
  t.equal((await send(url, 'GET', '/users', { headers: byKey(key) })).json.length, 1);
  t.equal((await send(url, 'GET', '/users')).status, 401);
  const signIn = async (password: string) =>
    (await send(url, 'GET', '/whoami', { headers: byPassword('a@example.org', password) })).status;
  t.same([await signIn('another passphrase'), await signIn(PASSWORD)], [401, 200]);
});

t.test('without DATABASE_URL, and without the optional packages, it says what to do', async (t) => {
  const { code, err } = await run(t, [PLINTH], { PORT: '0', DATA_DIR: join(t.testdir(), 'data') });
  t.equal(code, 69);
  t.match(err, /^plinth: [^\n]*no embedded PostgreSQL is installed here[^\n]*: set DATABASE_URL[^\n]*\n$/);
});

/** Runs a program with nothing of this environment but the path of programs. */
function runProgram(program: string, args: readonly string[], env: Record<string, string>) {
  const options = { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' } as const;
  return new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(program, args, options, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
  });
}

const CHECKS = [
  [process.execPath, 'health.cjs', /^plinth: .*ECONNREFUSED/],
  ['bash', 'health.sh', /Connection refused/],
] as const;

for (const [program, file, refused] of some(CHECKS, 1))
  t.test(`${file} requests /healthz of the service of its environment`, async (t) => {
    const check = (env: Record<string, string>) => runProgram(program, [join(folder, 'dist', file)], env);
    const DATABASE_URL = await testDatabase(t);
    const service = startNode(t, [PLINTH], { DATABASE_URL, PORT: '0', HOST: '0.0.0.0', AUTH: 'none' });
    const { port } = new URL(await service.ready());
    const env = { PORT: port, HOST: '0.0.0.0', AUTH: 'none' };
    t.same(await check(env), { code: 0, out: '', err: '' });
    t.match(await check({ ...env, PORT: 'x' }), { code: 1, err: /x/ });
    service.child.kill('SIGUSR2');
    await until(
      'maintenance begins',
      async () => (await send(`http://127.0.0.1:${port}`, 'GET', '/users')).status,
      503,
    );
    t.equal((await check(env)).code, 0, 'a service in maintenance is well');
    service.child.kill('SIGTERM');
    await service.ended;
    t.match(await check(env), { code: 1, err: refused });
    const other = createServer((_req, res) => res.writeHead(500).end());
    t.teardown(() => other.close());
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port: failing } = other.address() as AddressInfo;
    t.match(await check({ ...env, PORT: String(failing) }), { code: 1, err: /500/ });
  });

t.test('health.sh of a service with TLS', { skip: withoutOpenssl }, async (t) => {
  const { certFile, keyFile } = authority(t).sign('server');
  const settings = { TLS_CERT: certFile, TLS_KEY: keyFile, HOST: '127.0.0.1', AUTH: 'none' };
  const service = startNode(t, [PLINTH], { ...settings, DATABASE_URL: await testDatabase(t), PORT: '0' });
  const { port } = new URL(await service.ready());
  const check = [join(folder, 'dist/health.sh')];
  t.same(await runProgram('bash', check, { ...settings, PORT: port }), { code: 0, out: '', err: '' });
});
