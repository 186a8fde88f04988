import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/run.js';
import { FEATURES } from '../../src/features.js';
import { environment, startNode } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { drawn } from '../support/thorough.js';

const PROGRAM = fileURLToPath(new URL('../support/chosen-features.js', import.meta.url));
const NAMES = FEATURES.map(({ name }) => name);

/** Requests of each feature: the method GET, or the one before the path; those without paths of their own change responses of others, or are commands. */
const REQUESTS: Readonly<Record<string, readonly string[]>> = {
  'api-docs': ['/openapi.json', '/openapi.yaml', '/asyncapi.json', '/docs', '/docs/app.js'],
  issuer: ['/.well-known/openid-configuration', '/account', '/oauth-clients'],
  mcp: ['POST /mcp'],
  'version-calls': ['/admin/versions'],
  webhooks: ['/webhooks', '/webhooks/x/deliveries'],
};

/** The method and the path of a request. */
const requestOf = (text: string): [method: string, path: string] =>
  text.startsWith('POST ') ? ['POST', text.slice(5)] : ['GET', text];

/** The features that a service with the default settings and a database of its own opens. */
const ALWAYS = ['api-docs', 'pages', 'version-calls', 'webhooks'];

/** A feature, and those that may load its files. */
function withUsers(name: string): string[] {
  const users = FEATURES.filter(({ uses = [] }) => uses.includes(name)).map((user) => user.name);
  return [name, ...users.flatMap(withUsers)];
}

/** The features of which a service without some features has loaded files besides their `settings.ts`, and the statuses of requests to it. */
async function serviceWithout(t: Test, absent: readonly string[], paths: readonly string[]) {
  const coverage = t.testdir();
  const databaseUrl = await testDatabase(t);
  const env = { DATABASE_URL: databaseUrl, PORT: '0', NODE_V8_COVERAGE: coverage };
  const service = startNode(t, [PROGRAM, ...absent], env);
  const url = await service.ready();
  const statuses = await Promise.all(paths.map(async (path) => (await send(url, ...requestOf(path))).status));
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  // V8 reports each script that the process has loaded.
  const reports = readdirSync(coverage).map((file) => readFileSync(join(coverage, file), 'utf8'));
  const loaded = reports.join('').matchAll(/\/dist\/src\/features\/([\w-]+)\/(?!settings\.js)/g);
  return { statuses, loaded: [...new Set([...loaded].map(([, name]) => name!))].sort() };
}

t.test('a service loads only the features that are on, and the others have no path', async (t) => {
  const off = NAMES.filter((name) => !ALWAYS.includes(name));
  const paths = off.flatMap((name) => REQUESTS[name] ?? []);
  const { statuses, loaded } = await serviceWithout(t, [], ['/openapi.json', ...paths]);
  t.same(loaded, ALWAYS);
  t.same(statuses, [200, ...paths.map(() => 404)]);
});

t.test('the core serves records without any feature', async (t) => {
  const paths = Object.values(REQUESTS).flat();
  const { statuses, loaded } = await serviceWithout(t, NAMES, ['/items', '/', ...paths]);
  t.same(loaded, []);
  t.same(statuses, [200, 200, ...paths.map(() => 404)]);
});

for (const name of drawn(ALWAYS, 1))
  t.test(`${name} is absent without its line in the list`, async (t) => {
    const absent = withUsers(name);
    const paths = REQUESTS[name] ?? [];
    const { statuses, loaded } = await serviceWithout(t, absent, ['/items', ...paths]);
    t.same(
      loaded,
      ALWAYS.filter((each) => !absent.includes(each)),
    );
    t.same(statuses, [200, ...paths.map(() => 404)]);
  });

t.test('without the embedded PostgreSQL, DATABASE_URL is necessary', async (t) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const DATA_DIR = join(t.testdir(), 'data');
  const io = { features: [], stdin: new PassThrough(), stdout, stderr, env: environment({ DATA_DIR }) };
  t.equal(await run(['migrate'], io), 78);
  t.equal(String(stderr.read()), 'plinth: there is no embedded PostgreSQL: set DATABASE_URL\n');
  t.notOk(existsSync(DATA_DIR));
});
