import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { coreEndpoints } from '../../src/api/endpoints.js';
import { describeApi } from '../../src/app/open-features.js';
import { SCHEMES } from '../../src/auth/principal.js';
import { run } from '../../src/cli/run.js';
import { subjectsOf } from '../../src/features/api-docs/openapi-document.js';
import { FEATURES } from '../../src/features.js';
import { INVITING } from '../support/collections.js';
import { environment, startNode } from '../support/process.js';
import { send, testDatabase, testService } from '../support/service.js';
import { ALWAYS_ON, readSettings } from '../support/settings.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';

const PROGRAM = fileURLToPath(new URL('../support/chosen-features.js', import.meta.url));
const NAMES = FEATURES.map(({ name }) => name);

type Target = readonly [method: string, path: string];

/** The endpoints of the features. */
const SETTINGS = readSettings({ MAIL: 'log', PUBLIC_URL: 'https://api.example.org' });
const ADDED = (await describeApi(ALWAYS_ON, SETTINGS, INVITING)).endpoints.filter(
  ({ feature }) => feature !== undefined,
);

/** Requests of each feature; those without paths of their own change responses of others, or are commands. */
const REQUESTS: ReadonlyMap<string, readonly Target[]> = new Map(
  NAMES.map((name) => [
    name,
    ADDED.filter(({ feature, method }) => feature === name && /^(?:GET|POST)$/.test(method)).map(
      ({ method, path }) => [method, path.replace(/:\w+/g, 'x')] as const,
    ),
  ]),
);

const requestsOf = (name: string): readonly Target[] => REQUESTS.get(name)!;
const ITEMS: Target = ['GET', '/items'];

/** The features that a service with the default settings and a database of its own opens, and how each is turned off. */
const ALWAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'api-docs': { API_DOCS: 'off' },
  jobs: { JOBS: 'off' },
  pages: { HTML_PAGES: 'off' },
  webhooks: { WEBHOOKS: 'off' },
};
const ON = Object.keys(ALWAYS);

/** A service without some features, by the list of its program and by its settings. */
interface Without {
  readonly absent?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** The features of which a service has loaded files besides their `settings.ts`, and the statuses of requests to it. */
async function serviceWithout(t: Test, { absent = [], settings }: Without, targets: readonly Target[]) {
  const databaseUrl = await testDatabase(t);
  const env = { DATABASE_URL: databaseUrl, PORT: '0', ...settings };
  const service = startNode(t, [PROGRAM, ...absent], env);
  const url = await service.ready();
  const statuses = await Promise.all(
    targets.map(async ([method, path]) => (await send(url, method, path, BROWSER)).status),
  );
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  t.match(service.stdout(), '/dist/src/app.js', 'it prints the scripts that it has loaded');
  const loaded = service.stdout().matchAll(/\/dist\/src\/features\/([\w-]+)\/(?!settings\.js)/g);
  return { statuses, loaded: [...new Set([...loaded].map(([, name]) => name!))].sort() };
}

/** Pages are loaded when a browser requests one. */
const BROWSER = { headers: { accept: 'text/html, application/json;q=0.9, */*;q=0.8' } };

t.test('a service loads only the features that are on, and the others have no path', async (t) => {
  const off = NAMES.filter((name) => !ON.includes(name));
  const absent = off.flatMap(requestsOf);
  const { statuses, loaded } = await serviceWithout(t, {}, [['GET', '/openapi.json'], ...absent]);
  t.same(loaded, ON);
  t.same(statuses, [200, ...absent.map(() => 404)]);
});

t.test('the core serves records without any feature', async (t) => {
  const requests = NAMES.flatMap(requestsOf);
  t.ok(requests.length > 30, `${requests.length} requests`);
  const bySettings = { settings: Object.assign({}, ...Object.values(ALWAYS)) };
  for (const without of some<Without>([{ absent: NAMES }, bySettings], 1)) {
    const { statuses, loaded } = await serviceWithout(t, without, [ITEMS, ['GET', '/'], ...requests]);
    t.same(loaded, []);
    t.same(statuses, [200, 200, ...requests.map(() => 404)]);
  }
});

for (const [name, settings] of some(Object.entries(ALWAYS), 1))
  t.test(`${name} is absent when it is turned off`, async (t) => {
    const absent = requestsOf(name);
    const present = ON.filter((each) => each !== name).flatMap((each) => requestsOf(each).slice(0, 1));
    const { statuses, loaded } = await serviceWithout(t, { settings }, [ITEMS, ...present, ...absent]);
    t.same(
      loaded,
      ON.filter((each) => each !== name),
    );
    t.same(statuses, [200, ...present.map(() => 200), ...absent.map(() => 404)]);
  });

t.test('browsers get JSON without pages, and the documents name only what there is', async (t) => {
  const off = await testService(t, { HTML_PAGES: 'off', WEBHOOKS: 'off' });
  const on = await testService(t);
  for (const path of ['/', '/items', '/nowhere', '/errors', '/whoami']) {
    t.match((await on.send('GET', path, BROWSER)).headers['content-type'], /^text\/html/, path);
    t.match((await off.send('GET', path, BROWSER)).headers['content-type'], /^application\/json/, path);
  }
  const [without, all] = [await off.send('GET', '/openapi.json'), await on.send('GET', '/openapi.json')];
  for (const word of ['"text/html":', '"Webhook"', 'WEBHOOK_DISABLED', '"webhooks"']) {
    t.ok(all.text.includes(word), `${word} is in the whole document`);
    t.notOk(without.text.includes(word), `${word} is absent`);
  }
  const links = (await off.send('GET', '/')).json.links;
  t.same(
    Object.keys(links).filter((name) => name === 'webhooks'),
    [],
  );
  t.same((await off.send('GET', '/errors/WEBHOOK_DISABLED')).status, 404);
});

t.test('a type of the documents has its name whichever features are on', async (t) => {
  const config = readSettings({});
  const reserved = new Set([...config.features.keys()].flatMap(({ part }) => part.typeNames ?? []));
  const core = new Set([...subjectsOf(coreEndpoints({ ...config, auth: SCHEMES }, [])), 'redeliver']);
  const names = [
    ...subjectsOf(ADDED),
    ...ADDED.flatMap(({ schemas }) => Object.keys(schemas?.([]) ?? {})),
  ].filter((name) => !core.has(name));
  t.ok(names.length > 20, `${names.length} names`);
  t.same([...reserved].filter((name) => name !== 'redeliver').sort(), [...new Set(names)].sort());
});

t.test('without the embedded PostgreSQL, DATABASE_URL is necessary', async (t) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const DATA_DIR = join(t.testdir(), 'data');
  const io = { features: [], stdin: new PassThrough(), stdout, stderr, env: environment({ DATA_DIR }) };
  t.equal(await run(['migrate'], io), 78);
  t.equal(String(stderr.read()), 'plinth: there is no embedded PostgreSQL: set DATABASE_URL\n');
  t.notOk(existsSync(DATA_DIR));
});
