import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import t, { type Test } from 'tap';
import { freePort } from '../../src/process/listen.js';
import { connect } from '../mcp/session.js';
import { startNode, until } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';

t.jobs = 2;

const BUILD = fileURLToPath(new URL('../../../.ci/bundle.js', import.meta.url));

/** The bundle alone in a folder, without packages or SQL around it. */
const folder = mkdtempSync(join(tmpdir(), 'plinth-bundle-'));
t.teardown(() => rmSync(folder, { recursive: true }));
execFileSync(process.execPath, [BUILD, join(folder, 'dist')]);
const PLINTH = join(folder, 'dist/plinth.cjs');
const START = join(folder, 'dist/start.cjs');
const HEALTH = join(folder, 'dist/health.cjs');

const run = async (t: Test, args: readonly string[], env: Record<string, string>) => {
  const { ended, stdout, stderr } = startNode(t, args, env);
  return { code: await ended, out: stdout(), err: stderr() };
};

t.test('it is one file, and those that start it, check its health and serve agents', async (t) => {
  const files = ['health.cjs', 'mcp-sdk.cjs', 'plinth.cache', 'plinth.cjs', 'start.cjs'];
  t.same(readdirSync(join(folder, 'dist')).sort(), files);
});

t.test('what V8 has compiled of it is accepted by the Node that made it', async (t) => {
  const script = new Script(readFileSync(PLINTH, 'latin1'), {
    filename: PLINTH,
    cachedData: readFileSync(join(folder, 'dist/plinth.cache')),
  });
  t.equal(script.cachedDataRejected, false);
});

t.test('it starts without that, and with what another Node has made', async (t) => {
  const dist = join(t.testdir(), 'dist');
  cpSync(join(folder, 'dist'), dist, { recursive: true });
  const start = join(dist, 'start.cjs');
  const help = { code: 0, out: /^usage: plinth/, err: '' };
  writeFileSync(join(dist, 'plinth.cache'), 'made elsewhere');
  t.match(await run(t, [start, '--help'], {}), help);
  rmSync(join(dist, 'plinth.cache'));
  t.match(await run(t, [start, '--help'], {}), help);
});

t.test('it contains the authorization server', async (t) => {
  const env = { AUTH: 'bearer', AUTH_SERVER: 'on', DATABASE_URL: await testDatabase(t, true) };
  const port = String(await freePort({ host: '127.0.0.1', port: 0, setting: 'PORT' }));
  const issuer = `http://localhost:${port}`;
  await startNode(t, [START], { ...env, PORT: port, PUBLIC_URL: issuer }, folder).ready();
  const { json } = await send(issuer, 'GET', '/.well-known/openid-configuration');
  t.equal(json.issuer, issuer);
  const page = await send(issuer, 'GET', '/account');
  t.match(page, { status: 200, text: /to your account/ });
});

t.test('without the file for agents, MCP=on says what is missing', async (t) => {
  const dist = join(t.testdir(), 'dist');
  cpSync(join(folder, 'dist'), dist, { recursive: true });
  rmSync(join(dist, 'mcp-sdk.cjs'));
  const env = { MCP: 'on', DATABASE_URL: await testDatabase(t, true), PORT: '0' };
  const { code, err } = await run(t, [join(dist, 'start.cjs')], env);
  t.equal(code, 1);
  t.match(err, /MCP=on needs the package @modelcontextprotocol\/sdk/);
});

t.test('it serves agents', async (t) => {
  const env = { MCP: 'on', DATABASE_URL: await testDatabase(t, true), PORT: '0' };
  const url = await startNode(t, [START], env, folder).ready();
  const { client, call } = await connect(t, url);
  t.ok((await client.listTools()).tools.length > 0);
  t.match(await call('items_create', { record: { name: '' } }), { isError: true });
  t.match(await call('items_create', { record: { name: 'Lamp' } }), { isError: false });
});

for (const [program, WORKERS] of [
  [PLINTH, '1'],
  [START, '1'],
  [START, '2'],
] as const) {
  t.test(
    `${basename(program)} makes an empty database ready and serves it, WORKERS=${WORKERS}`,
    async (t) => {
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
    },
  );
}

t.test('its commands make keys and load records', async (t) => {
  const env = { DATABASE_URL: await testDatabase(t) };
  const args = ['keys', 'create', '--label', 'a', '--subject', 'a', '--scopes', 'users:read'];
  const made = await run(t, [PLINTH, ...args], env);
  const [, key = ''] = /^key: {2}(\S+)$/m.exec(made.out) ?? [];
  t.equal(made.code, 0, made.err);
  const file = join(t.testdir(), 'users.json');
  writeFileSync(file, JSON.stringify({ users: [{ email: 'a@example.org', name: 'A' }, { name: 'B' }] }));
  t.match(await run(t, [PLINTH, 'import', file], env), { code: 1, out: 'users: 1 stored, 1 refused\n' });

  const more = { AUTH: 'api-key, bearer', ISSUER: 'http://127.0.0.1:9', AUDIENCE: 'a', RATE_LIMIT: '100/60' };
  const settings = { ...env, ...more, RATE_LIMIT_STORE: 'postgres', PORT: '0' };
  const url = await startNode(t, [PLINTH, 'start'], settings).ready();
  t.equal((await send(url, 'GET', '/users', { headers: { 'x-api-key': key } })).json.length, 1);
  t.equal((await send(url, 'GET', '/users')).status, 401);
});

t.test('without DATABASE_URL, and without the optional packages, it says what to do', async (t) => {
  const { code, err } = await run(t, [PLINTH], { PORT: '0', DATA_DIR: join(t.testdir(), 'data') });
  t.equal(code, 69);
  t.match(err, /^plinth: [^\n]*no embedded PostgreSQL is installed here[^\n]*: set DATABASE_URL[^\n]*\n$/);
});

t.test('health.cjs asks the service of its environment', async (t) => {
  const DATABASE_URL = await testDatabase(t);
  const service = startNode(t, [PLINTH], { DATABASE_URL, PORT: '0', HOST: '0.0.0.0', AUTH: 'none' });
  const { port } = new URL(await service.ready());
  const env = { PORT: port, HOST: '0.0.0.0', AUTH: 'none' };
  t.same(await run(t, [HEALTH], env), { code: 0, out: '', err: '' });
  t.match(await run(t, [HEALTH], { ...env, PORT: 'x' }), { code: 1, err: /PORT must be/ });
  service.child.kill('SIGUSR2');
  await until(
    'maintenance begins',
    async () => (await send(`http://127.0.0.1:${port}`, 'GET', '/users')).status === 503,
  );
  t.equal((await run(t, [HEALTH], env)).code, 0, 'a service in maintenance is well');
  service.child.kill('SIGTERM');
  await service.ended;
  t.match(await run(t, [HEALTH], env), { code: 1, err: /^plinth: .*ECONNREFUSED/ });
});
