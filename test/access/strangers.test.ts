import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { withAccess } from '../support/declared.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const FILES = {
  'notes.json': withAccess({ text: { type: 'string', 'x-index': true, 'x-unique': true } }, [
    { can: 'all', to: 'anyone' },
  ]),
};

const NDJSON = 'application/x-ndjson';
const LINES = '{"text":"b"}\n{"text":"c"}\n';

/** A service on which strangers may do everything with notes one by one, with one note. */
async function open(t: Test) {
  const env = { AUTH: 'api-key', COLLECTIONS: declare(t, FILES), MIGRATE: 'auto', JOBS: 'on', MCP: 'on' };
  const service = await testService(t, env);
  const { send } = service;
  const { status, json } = await send('POST', '/notes', { body: { text: 'a' } });
  t.equal(status, 201, 'a stranger creates one record');
  const stored = async () =>
    (await send('GET', '/notes')).json.map(({ text, _version }: { text: string; _version: number }) => [
      text,
      _version,
    ]);
  return { ...service, id: String(json.id), stored };
}

t.test('a request that writes many records needs a credential', async (t) => {
  const { send, stored, db } = await open(t);
  const content = (type: string) => ({ 'content-type': type });
  const async = { prefer: 'respond-async' };
  const ROWS: [string, string, string, Record<string, string>, string | undefined][] = [
    ['NDJSON', 'POST', '/notes', content(NDJSON), LINES],
    ['one line', 'POST', '/notes', content(NDJSON), '{"text":"b"}'],
    ['NDJSON with a charset', 'POST', '/notes', content(`${NDJSON}; charset=utf-8`), LINES],
    ['NDJSON in capitals', 'POST', '/notes', content('Application/X-NDJSON'), LINES],
    ['CSV', 'POST', '/notes', content('text/csv'), 'text\nb\nc\n'],
    ['a job that creates', 'POST', '/notes', { ...content('text/csv'), ...async }, 'text\nb\n'],
    ['version 2', 'POST', '/api/v2/notes', content(NDJSON), LINES],
    ['a change by filter', 'PATCH', '/notes?filter[text][ne]=z', content('application/json'), '{"text":"d"}'],
    ['a deletion by filter', 'DELETE', '/notes?filter[text][ne]=z', {}, undefined],
    [
      'a batch',
      'POST',
      '/batch',
      content('application/json'),
      '{"operations":[{"method":"POST","path":"/notes","body":{}}]}',
    ],
    [
      'a tool',
      'POST',
      '/mcp',
      content('application/json'),
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes_create","arguments":{}}}',
    ],
    ['the jobs', 'GET', '/jobs', {}, undefined],
  ];
  for (const [what, method, path, headers, body] of ROWS) {
    const refused = await send(method, path, { headers, ...(body !== undefined && { body }) });
    t.equal(refused.status, 401, what);
    t.match(refused.headers['www-authenticate'], /X-API-Key/i, `${what}: the challenge`);
    const isByRecords = path.includes('notes');
    if (isByRecords) t.match(refused.text, /writes many records needs a credential/, `${what}: the reason`);
  }
  t.same(await stored(), [['a', 1]], 'nothing has changed');

  const { key } = await makeKey(db, { scopes: ['notes:write'] });
  const headers = { 'x-api-key': key };
  const made = await send('POST', '/notes', { headers: { ...headers, ...content(NDJSON) }, body: LINES });
  t.equal(made.status, 201, 'with a credential it is permitted');
  const gone = await send('DELETE', '/notes?filter[text][ne]=a', { headers });
  t.match(gone, { status: 200, json: { meta: { matched: 2 } } });
});

t.test('a stranger still writes one record at a time', async (t) => {
  const { send, id, stored } = await open(t);
  t.equal((await send('PATCH', `/notes/${id}`, { body: { text: 'b' } })).status, 200);
  t.equal((await send('PUT', `/notes/${id}`, { body: { text: 'c' } })).status, 200);
  t.equal((await send('PUT', '/notes?filter[text]=d', { body: {} })).status, 201);
  t.same((await stored()).length, 2);
  t.equal((await send('POST', '/notes', { body: [{ text: 'e' }, { text: 'f' }] })).status, 400);
  t.equal((await send('DELETE', `/notes/${id}`)).status, 204);
  const { json } = await send('GET', '/openapi.json');
  t.ok(json.paths['/notes'].post, 'the document of a stranger has what it may use');
  t.notOk(json.paths['/notes'].delete);
  t.same((await send('OPTIONS', '/notes')).headers.allow, 'GET, HEAD, QUERY, POST, OPTIONS');
});
