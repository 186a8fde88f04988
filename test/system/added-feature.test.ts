import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Program, plinth } from '../support/command.js';
import { environment, startNode } from '../support/process.js';
import { testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { parseScrape } from '../telemetry/scraped.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FEATURE = 'test/support/added-feature';

/** All that changes outside of the folders of the feature: its line in the list, and the import that it needs. */
const LIST: readonly (readonly [before: string, after: string])[] = [
  [
    'import { WORKER_SETTINGS }',
    "import { STATS_SETTINGS } from './features/stats/settings.js';\nimport { WORKER_SETTINGS }",
  ],
  [
    'export const FEATURES = [',
    "export const FEATURES = [{ name: 'stats', settings: STATS_SETTINGS, load: () => import('./features/stats/feature.js') },",
  ],
];

/** The folder of a copy of the program with the feature of `test/support/added-feature`. */
function programWithFeature(t: Test): string {
  const copy = t.testdir();
  const isProgram = (file: string) => !/\.(d\.ts|map)$/.test(file);
  cpSync(join(ROOT, 'dist/src'), join(copy, 'dist/src'), { recursive: true, filter: isProgram });
  for (const name of ['sql', 'collections', 'schema', 'package.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const folder = join(copy, 'dist/src/features/stats');
  mkdirSync(folder);
  for (const name of readdirSync(join(ROOT, 'dist', FEATURE)).filter((each) => each.endsWith('.js'))) {
    const text = readFileSync(join(ROOT, 'dist', FEATURE, name), 'utf8');
    writeFileSync(join(folder, name), text.replaceAll("'../../../src/", "'../../"));
  }
  cpSync(join(ROOT, FEATURE, 'sql'), join(copy, 'sql/features/stats'), { recursive: true });
  const list = join(copy, 'dist/src/features.js');
  let text = readFileSync(list, 'utf8');
  for (const [before, after] of LIST) {
    if (!text.includes(before)) throw new Error(`${list} does not contain ${before}`);
    text = text.replace(before, after);
  }
  writeFileSync(list, text);
  return join(copy, 'dist/src');
}

/** The modules that start a service in this process. */
type Service = Pick<typeof import('../../src/app.js'), 'startApp'> &
  Pick<typeof import('../../src/config/config.js'), 'readConfig'> &
  Pick<typeof import('../../src/app/open-features.js'), 'settingsOf'> &
  Pick<typeof import('../../src/telemetry/log.js'), 'createLog'>;

t.test('a feature is its folders and a line in the list', async (t) => {
  const folder = programWithFeature(t);
  const load = (file: string) => import(pathToFileURL(join(folder, file)).href);
  const modules = ['cli/run', 'features', 'app', 'config/config', 'app/open-features', 'telemetry/log'];
  const loaded = await Promise.all(modules.map((name) => load(`${name}.js`)));
  const program = Object.assign({}, ...loaded) as Program & Service;
  const DATABASE_URL = await testDatabase(t);
  const run = (args: readonly string[], env = {}) => plinth(t, args, { DATABASE_URL, ...env }, { program });
  const start = async (env: Record<string, string>) => {
    const service = startNode(t, [join(folder, 'main.js')], { DATABASE_URL, PORT: '0', ...env });
    const url = await service.ready();
    // Without `send`, which would note the errors of the feature as errors of the program without it.
    const get = async (path: string) => {
      const response = await fetch(`${url}${path}`);
      const [text, isJson] = [await response.text(), response.headers.get('content-type')?.includes('json')];
      return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined };
    };
    return { get, stdout: service.stdout };
  };
  const off = await program.startApp(
    program.readConfig(
      { ...environment({ DATABASE_URL }), PORT: '0' },
      {},
      '',
      program.settingsOf(program.FEATURES),
    ),
    program.createLog('silent'),
    program.FEATURES,
  );
  t.teardown(() => off.stop());
  t.equal((await fetch(`${off.url}/stats`)).status, 404, 'it is off by default');
  for (const path of ['/', '/openapi.json', '/metrics', '/errors'])
    t.notMatch(await (await fetch(off.url + path)).text(), /stats/i, `${path} has nothing of it`);

  const on = await start({ STATS: 'on' });
  t.match(on.stdout(), /^ {2}stats +http\S+\/stats$/m, 'its line in the message of the start');
  t.match(await on.get('/stats?past=1'), { status: 409, json: { error: { code: 'NO_STATS' } } });
  t.match(await on.get('/stats'), { status: 200, json: { requests: 1 } });
  t.equal((await on.get('/stats?other=1')).status, 400, 'parameters are those of its description');
  t.equal((await on.get('/')).json.links.stats, '/stats');
  t.equal((await on.get('/errors/NO_STATS')).json.status, 409);
  const { json: document } = await on.get('/openapi.json');
  t.match(document.paths['/stats'].get.responses, { 200: {}, 409: {} });
  t.ok(document.components.schemas.Stats);
  const tag = document.tags.find(({ name }: { name: string }) => name === 'stats');
  t.equal(tag.description, 'Requests that were counted.');
  const samples = parseScrape((await on.get('/metrics')).text);
  t.equal(samples.find(({ name }) => name === 'plinth_stats_requests_total')?.value, 1);

  t.match(await run(['stats']), { code: 0, out: '1 requests\n' });
  t.match(await run(['stats', '--json']), { code: 0, out: '{"requests":1}\n' });
  t.match((await run(['--help'])).out, /^ +stats +shows how many requests were counted$/m);
  t.match(await run(['serve'], { STATS: 'maybe' }), { code: 78, err: /STATS must be `on` or `off`/ });
  const COLLECTIONS = join(folder, 'declared');
  mkdirSync(COLLECTIONS);
  writeFileSync(join(COLLECTIONS, 'stats.json'), '{"type": "object", "properties": {}}');
  t.match(await run(['collections', 'check'], { COLLECTIONS }), {
    err: /\/stats is a path of the service itself/,
  });

  const sql = sqlOf(t, DATABASE_URL);
  t.match(await sql`select max(name) as name from migrations`, [{ name: '9000_plinth_stats.sql' }]);
});
