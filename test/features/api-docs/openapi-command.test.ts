import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { declare } from '../../support/collections.js';
import { documentOf, plinth } from '../../support/command.js';
import { makeKey } from '../../support/credentials.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { words } from '../../support/words.js';

t.jobs = 3;

/** The document that a service with these settings sends to an administrator. */
async function served(t: Test, env: Record<string, string>): Promise<unknown> {
  const { db, send } = await testService(t, env);
  const { key } = await makeKey(db);
  return (await send('GET', '/openapi.json', { headers: { 'x-api-key': key } })).json;
}

for (const more of [
  {},
  { AUTH: 'none', EVENTS: 'off', COMPAT: 'json-server', PUBLIC_PREFIX: '/api/v1' },
  { AUTH: 'api-key', RATE_LIMIT: '100/60', METRICS_PORT: '0', V1_SUNSET: '2999-01-01T00:00:00Z' },
  { AUTH: 'api-key,bearer', AUTH_SERVER: 'on', PUBLIC_URL: 'http://127.0.0.1:9', MCP: 'on' },
] as Record<string, string>[])
  t.test(`with ${JSON.stringify(more)} the document is that of the service, made offline`, async (t) => {
    const env = { ...more, DATABASE_URL: 'postgres://127.0.0.1:1/none' };
    const document = await documentOf(t, ['openapi'], env);
    t.same(document, await served(t, more));
  });

t.test('it is written to a file, as YAML too', async (t) => {
  const folder = t.testdir();
  const json = JSON.parse((await plinth(t, ['openapi'])).out);
  t.equal(json.openapi, '3.1.0');
  const args = words('openapi --yaml -o api.yaml --version 1');
  const report = await documentOf(t, args, {}, { cwd: folder });
  const text = readFileSync(join(folder, 'api.yaml'), 'utf8');
  t.same(report, { file: 'api.yaml', version: '1', bytes: Buffer.byteLength(text) });
  t.same(parse(text), json);
  const second = JSON.parse((await plinth(t, ['openapi', '--version', '2'])).out);
  const { send } = await testService(t);
  t.same(second, (await send('GET', '/api/v2/openapi.json')).json);
  t.match(await plinth(t, ['openapi', '-o', '/nowhere/api.json', '--json']), {
    code: 73,
    out: '',
    err: /^\{"error":\{"code":"OUTPUT","message":"\/nowhere\/api\.json cannot be written: /,
  });
});

t.test('the types of a collection have the same names when other settings add endpoints', async (t) => {
  const titles = ['Client', 'User info', 'Open api', 'Event ticket', 'Key', 'Metrics', 'Protected resource'];
  const files = titles.map((title, at) => [`things${at}.json`, { title, type: 'object', properties: {} }]);
  const COLLECTIONS = declare(t, Object.fromEntries(files));
  const namesWith = async (env: Record<string, string>) => {
    const { paths } = (await documentOf(t, ['openapi'], { COLLECTIONS, ...env })) as {
      paths: Record<string, { post: { operationId: string } }>;
    };
    return titles.map((_, at) => paths[`/things${at}`]!.post.operationId);
  };
  const few = { EVENTS: 'off', METRICS_PORT: '0' };
  const all = { AUTH: 'api-key,bearer', AUTH_SERVER: 'on', PUBLIC_URL: 'http://127.0.0.1:9', MCP: 'on' };
  const wanted = titles.map((_, at) => `createThings${at}Record`);
  t.same(await namesWith(few), wanted);
  t.same(await namesWith(all), wanted);
});

t.test('what it cannot describe is an error', async (t) => {
  const notes = '{"type": "object", "properties": {"a": {"x-index": 1}}}';
  const COLLECTIONS = declare(t, { 'notes.json': notes });
  for (const [command, code, err, env] of [
    ['openapi --version 7', 64, /^plinth: --version must be 1 or 2, not 7\n/, {}],
    ['openapi --yaml --json', 64, /"code":"USAGE"/, {}],
    ['openapi', 78, /`item:read` is not a scope/, { BASIC_SCOPES: 'item:read' }],
    ['openapi', 78, /notes\.json#\/properties\/a\/x-index: /, { COLLECTIONS }],
  ] as const)
    t.match(await plinth(t, words(command), env), { code, err });
});
