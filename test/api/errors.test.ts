import { readdirSync, readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { typeOf } from '../../src/errors/catalogue.js';
import { createLog } from '../../src/telemetry/log.js';
import { CITUS_URL } from '../support/citus.js';
import { COLLECTIONS } from '../support/names.js';
import { ERROR_TYPES } from '../support/provoked-errors.js';
import { freshService, type SendOptions, send, testDatabase, testService } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 2;

const PROBLEM = 'application/problem+json';
const JSON_PATCH = 'application/json-patch+json';
const ALL_TYPES = [...ERROR_TYPES.values()].flat();

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** The settings with which the service has each error. */
const EVERY_FEATURE = {
  AUTH: 'api-key,bearer',
  ISSUER: 'https://login.example.org',
  AUDIENCE: 'plinth',
  USERS_FROM_ISSUER: 'create',
};

/** `409 `DUPLICATE``, also as cells of a table. */
const STATUS_AND_CODE = /\b([45]\d\d)(?: \|)? `([A-Z][A-Z0-9_]{3,})`/g;

/** Where the paths of a version are, and the media types of its errors. */
const MOUNTS = [
  ['', ['application/json', PROBLEM]],
  ['/api/v1', ['application/json', PROBLEM]],
  ['/api/v2', [PROBLEM]],
] as const;

t.test('every code has a page, in each version', async (t) => {
  const { send } = await testService(t, EVERY_FEATURE);
  for (const [mount, forms] of MOUNTS) {
    const list = `${mount}/errors`;
    const { json, headers } = await send('GET', list);
    const codes: string[] = json.data.map(({ code }: { code: string }) => code);
    t.same(codes, ALL_TYPES.map(({ code }) => code).sort());
    t.equal((await send('GET', list, { headers: { 'if-none-match': headers.etag } })).status, 304);
    for (const entry of json.data) {
      const at = `${list}/${entry.code}`;
      const { status, json: shown, headers: fields } = await send('GET', at);
      const { title, examples, links, ...rest } = shown;
      t.same([status, rest, title], [200, entry, STATUS_CODES[entry.status]], at);
      for (const member of ['message', 'cause', 'remedy'])
        t.match(entry[member], /^[A-Z`_a-z].*\.$/, `${entry.code}: ${member} is a sentence`);
      // Version 1 has a link to the root address for the same page.
      const root = mount === '/api/v2' ? mount : '';
      t.same(links, { self: `${root}/errors/${entry.code}`, errors: `${root}/errors` });
      const isText = entry.code === 'NOT_ACCEPTABLE' && mount !== '/api/v2';
      t.same(Object.keys(examples), isText ? ['text/plain; charset=utf-8', PROBLEM] : forms);
      t.match(examples[PROBLEM], { type: links.self, title, status: entry.status, code: entry.code });
      if (!isText && mount !== '/api/v2')
        t.equal(examples['application/json'].error.message, examples[PROBLEM].detail);
      const head = await send('HEAD', at);
      t.same([head.status, head.text, head.headers.etag], [200, '', fields.etag], at);
      const { text } = await send('GET', at, { headers: { accept: 'text/html' } });
      for (const part of [entry.code, escaped(entry.cause), escaped(entry.remedy), 'href="/errors"'])
        t.ok(text.includes(part), `the page of ${at} has ${part}`);
    }
    for (const method of ['GET', 'HEAD'])
      t.equal((await send(method, `${list}/NO_SUCH_CODE`)).status, 404, `${method} ${list}`);
  }
  const page = await send('GET', '/errors', { headers: { accept: 'text/html' } });
  t.match(page.text, '<a href="/errors/VALIDATION_ERROR">');
});

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

const NOT_ON_CITUS = {
  skip: CITUS_URL !== '' && 'a service without features cannot use distributed records',
};
t.test('a service without features lists none of their codes', NOT_ON_CITUS, async (t) => {
  const config = readConfig({ DATABASE_URL: await testDatabase(t), AUTH: 'none', PORT: '0', ...COLLECTIONS });
  const app = await startApp(config, createLog('silent'), []);
  t.teardown(() => app.stop());
  const { json } = await send(app.url, 'GET', '/errors');
  const codes: string[] = json.data.map(({ code }: { code: string }) => code);
  t.same(
    codes,
    ERROR_TYPES.get('')!
      .map(({ code }) => code)
      .sort(),
  );
  for (const [feature, types] of ERROR_TYPES)
    for (const { code } of feature === '' ? [] : types) {
      t.notOk(codes.includes(code), `${code} is of ${feature}`);
      t.equal((await send(app.url, 'GET', `/errors/${code}`)).status, 404, code);
    }
});

/** The table of docs/api.md. */
function codesByStatus(): string {
  const types = ALL_TYPES.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  const statuses = [...new Set(types.map(({ status }) => status))].sort();
  const rows = statuses.map((status) => {
    const codes = types.filter((type) => type.status === status).map(({ code }) => `\`${code}\``);
    return `| ${status} | ${codes.join(' ')} |\n`;
  });
  return ['| status | codes |\n', '|---|---|\n', ...rows].join('');
}

t.test('the documentation has all codes with their statuses', async (t) => {
  const page = readFileSync(join(DOCS, 'api.md'), 'utf8');
  const [table] = /^\| status \| codes \|\n(\|.*\n)+/m.exec(page) ?? [];
  t.equal(table, codesByStatus());
  for (const name of readdirSync(DOCS).filter((each) => each.endsWith('.md')))
    for (const [text, status, code] of readFileSync(join(DOCS, name), 'utf8').matchAll(STATUS_AND_CODE))
      t.ok(
        typeOf(ALL_TYPES, code!)?.status === Number(status) ||
          (status === '422' && code!.endsWith('_NOT_FOUND')),
        `${name}: ${text}`,
      );
});

t.test('codes with the name of a collection or a field are explained, others are not', async (t) => {
  const { send } = await testService(t);
  t.match(await send('GET', '/errors/AUTHOR_NOT_FOUND'), {
    status: 200,
    json: { code: 'AUTHOR_NOT_FOUND', status: 404 },
  });
  t.match(await send('GET', '/errors/ISBN_TAKEN'), { status: 200, json: { status: 409 } });
  // Words for records and declared codes may have digits.
  t.match(await send('GET', '/errors/BOOK_2_NOT_FOUND'), {
    status: 200,
    json: { examples: { [PROBLEM]: { detail: 'No such book 2.', code: 'BOOK_2_NOT_FOUND' } } },
  });
  t.equal((await send('GET', '/errors/ISBN13_TAKEN')).status, 200);
  for (const code of ['NONE', 'not_found', '_NOT_FOUND', 'toString', '__proto__', '%3Cscript%3E'])
    t.match(await send('GET', `/errors/${code}`), { status: 404, json: { error: { code: 'NOT_FOUND' } } });
});

/** Requests that fail; ID is that of an item. */
const FAILING: readonly (readonly [code: string, method: string, path: string, options?: SendOptions])[] = [
  ['BAD_REQUEST', 'GET', '/items/ID', { headers: { 'if-match': 'x' } }],
  ['CURSOR_GONE', 'GET', '/events?after=00000001000'],
  ['EMAIL_TAKEN', 'POST', '/users', { body: { name: 'A', email: 'a@example.org' } }],
  ['EXPECTATION_FAILED', 'GET', '/items/ID', { headers: { expect: 'more' } }],
  ['INVALID_CURSOR', 'GET', '/events?after=x'],
  ['INVALID_QUERY', 'GET', '/items?filter[absent]=1'],
  ['INVALID_TICKET', 'GET', '/events?ticket=x', { headers: { accept: `text/event-stream, ${PROBLEM}` } }],
  ['METHOD_NOT_ALLOWED', 'DELETE', '/whoami'],
  ['MISDIRECTED_REQUEST', 'GET', '/items', { headers: { host: 'other.example' } }],
  ['NOT_ACCEPTABLE', 'GET', '/items/ID', { headers: { accept: `image/png, ${PROBLEM}` } }],
  ['NOT_FOUND', 'GET', '/nothing'],
  [
    'PATCH_TEST_FAILED',
    'PATCH',
    '/items/ID',
    { body: [{ op: 'test', path: '/name', value: 'B' }], type: JSON_PATCH },
  ],
  ['PRECONDITION_FAILED', 'GET', '/items/ID', { headers: { 'if-match': '"0"' } }],
  ['UNPROCESSABLE_PATCH', 'PATCH', '/items/ID', { body: [{ op: 'remove', path: '/b' }], type: JSON_PATCH }],
  ['UNSUPPORTED_MEDIA_TYPE', 'POST', '/items', { body: Buffer.from('x'), type: 'text/plain' }],
  ['UNSUPPORTED_VERSION', 'GET', '/items', { headers: { 'api-version': '9' } }],
  ['USER_NOT_FOUND', 'GET', '/users/0198c0de-0000-7000-8000-000000000000/posts'],
  ['VALIDATION_ERROR', 'POST', '/items', { body: {} }],
  ['VERSION_CONFLICT', 'PUT', '/items/ID', { body: { name: 'B', _version: 9 } }],
];
t.test('the type of each problem document has a page', async (t) => {
  const { send } = await testService(t);
  await send('POST', '/users', { body: { name: 'A', email: 'a@example.org' } });
  const { id } = (await send('POST', '/items', { body: { name: 'A' } })).json;
  for (const [mount] of MOUNTS)
    for (const [code, method, path, options = {}] of FAILING) {
      const target = mount + path.replace('ID', id);
      const headers = { accept: `application/json;q=0.5, ${PROBLEM}`, ...options.headers };
      const response = await send(method, target, { ...options, headers });
      // A header that names no version contradicts a path with one.
      const expected = code === 'UNSUPPORTED_VERSION' && mount !== '' ? 'VERSION_MISMATCH' : code;
      t.match(
        response,
        { headers: { 'content-type': PROBLEM }, json: { code: expected } },
        `${method} ${target}`,
      );
      const { type, status, title } = response.json;
      t.match(await send('GET', type), { status: 200, json: { code: expected, status, title } }, type);
      t.equal((await send('HEAD', type)).status, 200, type);
    }
});

t.test('the page of a code remains after the sunset of its version', async (t) => {
  const [accept, html] = [{ accept: PROBLEM }, { accept: 'text/html' }];
  for (const version of ['1', '2']) {
    const gone = { deprecation: undefined, sunset: new Date('2026-01-01T00:00:00Z'), successor: '/next' };
    const { send } = await freshService(t, {}, { retirement: { [version]: gone } });
    for (const mount of version === '1' ? ['', '/api/v1'] : ['/api/v2']) {
      const { status, json } = await send('GET', `${mount}/items`, { headers: accept });
      t.same([status, json.code], [410, 'VERSION_SUNSET']);
      t.match(await send('GET', json.type), { status: 200, json: { code: 'VERSION_SUNSET', status: 410 } });
      const page = await send('GET', json.type, { headers: html });
      t.match(page, { status: 200, headers: { sunset: 'Thu, 01 Jan 2026 00:00:00 GMT' } });
      t.equal((await send('GET', `${mount}/errors`)).status, 200);
      t.equal((await send('GET', `${mount}/whoami`)).status, 410);
    }
  }
});
