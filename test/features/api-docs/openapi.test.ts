import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import { NOBODY } from '../../../src/auth/principal.js';
import type { ApiDocuments } from '../../../src/features/api-docs/api-documents.js';
import type { JsonObject } from '../../../src/json.js';
import { replaceTurnClock } from '../../../src/limits/turn.js';
import { VERSIONS } from '../../../src/versions/supported.js';
import { declare } from '../../support/collections.js';
import { codesWithout } from '../../support/contract.js';
import { byKey, makeKey, makeUser } from '../../support/credentials.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { LOOPBACK, testTarget } from '../webhooks/target.js';
import { ALL_SCHEMES, CLIENT, LIBRARY, ROOT } from './documented.js';

t.test('the document shows what a caller may use', async (t) => {
  const env = { AUTH: 'api-key', COLLECTIONS: declare(t, LIBRARY), MIGRATE: 'auto' };
  const service = await testService(t, env);
  const documentAt = async (path: string, scopes?: string[]) => {
    const headers = scopes ? byKey((await makeKey(service.db, { scopes })).key) : {};
    return (await service.send('GET', path, { headers })).json;
  };
  const operations = async (scopes?: string[]) => {
    const paths = Object.entries((await documentAt('/openapi.json', scopes)).paths as Record<string, object>);
    return paths.flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`));
  };
  const stranger = await operations();
  t.ok(stranger.includes('get /authors'), 'what is public');
  t.notOk(stranger.some((each) => each.includes('order_lines') || /post|\/keys/.test(each)));
  const reader = await operations(['order_lines:read']);
  t.ok(reader.includes('get /order_lines'));
  t.notOk(reader.some((each) => /(post|put|patch|delete) \/(order|keys)/.test(each)));
  const admin = await operations(['admin']);
  t.ok(admin.includes('delete /keys/{id}'));
  for (const path of ['/openapi.json', '/api/v2/openapi.json']) {
    const schemasFor = async (scope: string) =>
      Object.keys((await documentAt(path, [scope])).components.schemas);
    t.ok((await schemasFor('order_lines:read')).includes('OrderLine'), path);
    for (const scope of ['users:read', 'self']) {
      const others = await schemasFor(scope);
      t.ok(others.includes('Author'), path);
      t.notOk(others.includes('OrderLine'), `${path}: ${scope} does not permit to read these records`);
    }
    t.ok((await schemasFor('self')).includes('User'), `${path}: the own record`);
    const described = async (scopes?: string[]) => (await documentAt(path, scopes)).info.description;
    const missing = Number(/(\d+) operations are missing/.exec(await described())?.[1]);
    t.equal(missing, admin.length - stranger.length);
    t.match(await described(), /without a credential/);
    t.match(await described(['order_lines:read']), /does not permit them/);
    t.notMatch(await described(['admin']), /missing/);
  }
  t.equal((await service.send('GET', '/openapi.json', { headers: { 'x-api-key': 'no' } })).status, 401);
});

t.test('all codes of errors are in the document', async (t) => {
  const service = await testService(t, {
    ...ALL_SCHEMES,
    COLLECTIONS: declare(t, { ...LIBRARY, 'items.json': {}, 'posts.json': {} }),
    MIGRATE: 'auto',
    TOMBSTONES: 'on',
    REQUIRE_IF_MATCH: 'on',
    V1_SUNSET: '2999-01-01T00:00:00Z',
  });
  const { key } = await makeKey(service.db);
  for (const path of ['/openapi.json', '/api/v2/openapi.json']) {
    const { json } = await service.send('GET', path, { headers: { 'x-api-key': key } });
    t.same(codesWithout(json), []);
  }
});

t.test('representations with an ETag are revalidated, as the document says', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const { id, key } = await makeKey(service.db);
  const as = { 'x-api-key': key };
  const { id: user } = await makeUser(service, 'a@example.org');
  const ids: Readonly<Record<string, string>> = { '/keys/{id}': id, '/errors/{code}': 'NOT_FOUND' };
  const { paths } = (await service.send('GET', '/openapi.json', { headers: as })).json;
  for (const [path, item] of Object.entries(paths as Record<string, { get?: { responses: object } }>)) {
    if (!item.get || !('304' in item.get.responses) || /webhooks|items|posts/.test(path)) continue;
    const at = path === '/users' ? '/users?page=1' : path.replace(/\{\w+\}/, ids[path] ?? user);
    const { etag } = (await service.send('GET', at, { headers: as })).headers;
    t.type(etag, 'string', path);
    const again = await service.send('GET', at, { headers: { ...as, 'if-none-match': etag } });
    t.equal(again.status, 304, path);
    const failed = await service.send('GET', at, { headers: { ...as, 'if-match': '"other"' } });
    t.equal(failed.status, 412, path);
  }
});

t.test('the document has the bodies and responses of jobs and of many records as variants', async (t) => {
  const service = await testService(t);
  for (const mount of ['', '/api/v2']) {
    const { json } = await service.send('GET', `${mount}/openapi.json`);
    const { paths, components } = json;
    const variants = paths['/items'].post['x-variants'].map(({ requestBody, responses }: JsonObject) => [
      Object.keys((requestBody as { content?: object } | undefined)?.content ?? {}),
      Object.keys(responses as object),
    ]);
    const bodies = ['application/x-ndjson', 'text/csv'];
    t.same(variants, [[bodies, ['201', '202']]]);
    t.notOk(paths['/items'].get['x-variants'], 'a list begins no job');
    t.ok(components.schemas.CreationReport);
  }
  const without = await testService(t, { JOBS: 'off' });
  t.notMatch((await without.send('GET', '/openapi.json')).text, 'x-variants');
});

t.test('each version has a document of its own', async (t) => {
  const { send } = await testService(t, { PUBLIC_URL: 'https://api.example.org' });
  const first = (await send('GET', '/openapi.json')).json;
  const second = (await send('GET', '/api/v2/openapi.json')).json;
  const header = { headers: { 'api-version': '2' } };
  t.same((await send('GET', '/openapi.json', header)).json, second);
  t.same((await send('GET', '/api/v1/openapi.json')).json, first);
  const shown = [first, second].map(({ info, servers }) => `${info.version} ${servers[0].url}`);
  t.same(shown, ['1.0.0 https://api.example.org', '2.0.0 https://api.example.org/api/v2']);
  t.same(Object.keys(first.paths), Object.keys(second.paths));
  const names = (document: { paths: Record<string, { get: { parameters: { name: string }[] } }> }) =>
    document.paths['/items']!.get.parameters.map(({ name }) => name);
  t.ok(names(first).includes('page') && !names(first).includes('after'));
  t.ok(names(second).includes('after') && !names(second).includes('page'));
  t.notMatch(JSON.stringify(second), 'requestId');
  for (const response of Object.values(second.components.responses as Record<string, { content: object }>))
    t.notOk('application/json' in response.content, 'errors are problem documents');
});

t.test('names of components begin with letters in all sections', async (t) => {
  const text = { type: 'string', 'x-index': true };
  const shared = { $defs: { '13': { type: 'string', minLength: 2 }, name: { type: 'string' } } };
  const properties = {
    '3rd': text,
    _own: text,
    code: { $ref: '#/$defs/13' },
    day: { $ref: '_2024.json#/$defs/13' },
    name: { $ref: '_2024.json#/$defs/name' },
  };
  const model = { title: 'Model', type: 'object', properties, ...shared };
  const COLLECTIONS = declare(t, { 'models.json': model, '_2024.json': shared });
  const service = await testService(t, { COLLECTIONS, MIGRATE: 'auto' });
  for (const mount of ['', '/api/v2']) {
    const { components } = (await service.send('GET', `${mount}/openapi.json`)).json as {
      components: Record<string, Record<string, JsonObject>>;
    };
    const names = Object.entries(components).flatMap(([section, members]) =>
      Object.keys(members).map((name) => `${section} ${name}`),
    );
    for (const name of names) t.match(name, /^\w+ [A-Za-z][\w.-]*$/);
  }
});

t.test('a generated client uses every operation', async (t) => {
  const hooks = await testTarget(t);
  const service = await testService(t, { AUTH: 'api-key', ...LOOPBACK });
  const { key } = await makeKey(service.db);
  const { json } = await service.send('GET', '/openapi.json', { headers: { 'x-api-key': key } });
  // Inside the project, so that the client finds its packages.
  const folder = join(ROOT, 'dist', `openapi-client-${process.pid}`);
  mkdirSync(folder);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { code } = await transform(readFileSync(CLIENT, 'utf8'), { loader: 'ts', format: 'esm' });
  writeFileSync(join(folder, 'client.js'), code);
  const { useAll } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as {
    useAll: (baseUrl: string, target: string, apiKey: string) => Promise<Set<string>>;
  };
  const used = await useAll(service.url, `${hooks.url}/hook`, key);
  const paths = Object.entries(json.paths as Record<string, object>);
  const all = paths.flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`));
  const unused = all.filter((each) => !used.has(each) && !each.startsWith('x-query'));
  t.same(unused, []);
});

t.test('the document is made in parts, between which other requests are served', async (t) => {
  const { features } = await testService(t, ALL_SCHEMES);
  const documents = features.get('api-docs') as ApiDocuments;
  let now = 0;
  let ticks = 0;
  let isOver = false;
  const tick = () => {
    ticks++;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  // Each part lasts long by this clock.
  t.teardown(replaceTurnClock(() => (now += 1000)));
  const { paths, components } = await documents.openApi(NOBODY, VERSIONS[0]!);
  isOver = true;
  const operations = Object.values(paths as JsonObject).flatMap((path) => Object.keys(path as JsonObject));
  const schemas = Object.keys((components as { schemas: JsonObject }).schemas);
  t.ok(operations.length > 40 && schemas.length > 40, `${operations.length} ${schemas.length}`);
  t.ok(ticks >= operations.length + schemas.length, `${ticks} ticks`);
});
