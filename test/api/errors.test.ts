import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { typeOf } from '../../src/errors/catalogue.js';
import { ERROR_TYPES } from '../support/provoked-errors.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 2;

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** `409 `DUPLICATE``, also as cells of a table. */
const STATUS_AND_CODE = /\b([45]\d\d)(?: \|)? `([A-Z][A-Z0-9_]{3,})`/g;

t.test('every code is explained, as JSON and as a page', async (t) => {
  const { send } = await testService(t, { AUTH: 'api-key' });
  const { json, headers } = await send('GET', '/errors');
  const codes: string[] = json.data.map(({ code }: { code: string }) => code);
  const types = [...ERROR_TYPES.values()].flat();
  t.same(codes, types.map(({ code }) => code).sort());
  t.equal(json.meta.total, codes.length);
  t.equal((await send('GET', '/errors', { headers: { 'if-none-match': headers.etag } })).status, 304);
  for (const entry of json.data) {
    const shown = await send('GET', `/errors/${entry.code}`);
    t.same([shown.status, shown.json], [200, entry]);
    t.ok(entry.status >= 400 && entry.status < 600);
    for (const member of ['message', 'cause', 'remedy'])
      t.match(entry[member], /^[A-Z`_a-z].*\.$/, `${entry.code}: ${member} is a sentence`);
    const page = await send('GET', `/errors/${entry.code}`, { headers: { accept: 'text/html' } });
    t.match(page, { status: 200, text: entry.code });
  }
  const page = await send('GET', '/errors', { headers: { accept: 'text/html' } });
  t.match(page.text, '<a href="/errors/VALIDATION_ERROR">');
});

/** The table of docs/api.md. */
function codesByStatus(): string {
  const types = [...ERROR_TYPES.values()].flat().sort((a, b) => (a.code < b.code ? -1 : 1));
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
  const types = [...ERROR_TYPES.values()].flat();
  for (const name of readdirSync(DOCS).filter((each) => each.endsWith('.md')))
    for (const [text, status, code] of readFileSync(join(DOCS, name), 'utf8').matchAll(STATUS_AND_CODE))
      t.ok(
        typeOf(types, code!)?.status === Number(status) || (status === '422' && code!.endsWith('_NOT_FOUND')),
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
  for (const code of ['NONE', 'not_found', '_NOT_FOUND', 'toString', '__proto__', '%3Cscript%3E'])
    t.match(await send('GET', `/errors/${code}`), { status: 404, json: { error: { code: 'NOT_FOUND' } } });
});

t.test('the type of a problem document is the address of its explanation', async (t) => {
  const { send } = await testService(t, { PUBLIC_PREFIX: '/api/v1' });
  const accept = 'application/problem+json';
  const { json } = await send('GET', '/nothing', { headers: { accept } });
  t.equal(json.type, '/api/v1/errors/NOT_FOUND');
  t.match(await send('GET', json.type), { status: 200, json: { code: 'NOT_FOUND' } });
  const { json: refused } = await send('GET', '/users', { headers: { accept: `image/png, ${accept}` } });
  t.match(refused, { type: '/api/v1/errors/NOT_ACCEPTABLE', status: 406, code: 'NOT_ACCEPTABLE' });
});
