import type { JsonObject } from '../../src/json.js';
import { ask, type Call, callTool, openForCallers } from '../support/callers.js';
import { CITUS_URL } from '../support/citus.js';
import { ADMIN, reference, text, withAccess } from '../support/declared.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import type { ServiceResponse } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const [HTML, CSV, NDJSON] = ['text/html', 'text/csv', 'application/x-ndjson'];

/** The field that Ann may not read of her file, and the title of a file that she may not read. */
const [SECRET, FOREIGN] = ['zebra', 'quagga'];

const DECLARATIONS: Readonly<Record<string, JsonObject>> = {
  'folders.json': { type: 'object', properties: { name: text } },
  'files.json': withAccess(
    {
      title: { ...text, 'x-search': true },
      secret: { ...text, 'x-search': true },
      owner: text,
      folderId: reference('folders'),
    },
    [
      { can: 'read', where: { owner: '$caller' }, fields: ['title', 'owner', 'folderId'] },
      { can: ['create', 'update'], where: { owner: '$caller' } },
      ADMIN,
    ],
    { nested: 'folderId', ...(CITUS_URL === '' ? { history: true } : {}) },
  ),
  'notes.json': { type: 'object', properties: { text, fileId: reference('files') } },
};

async function open(t: Test) {
  const { service, as, admin, made } = await openForCallers(t, DECLARATIONS);
  const ann = await as('ann', 'self', 'folders:read', 'notes:read', 'notes:write', 'events:read');
  const folderId = await made('/folders', { name: 'Desk' });
  const own = await made('/files', { title: 'Plan', secret: SECRET, owner: 'ann', folderId });
  const foreign = await made('/files', { title: FOREIGN, secret: SECRET, owner: 'bob', folderId });
  const [ownNote, foreignNote] = [
    await made('/notes', { text: 'of Ann', fileId: own }),
    await made('/notes', { text: 'of Bob', fileId: foreign }),
  ];
  await whenEventsAreFinal(service);
  return { service, as, admin, ann, made, folderId, own, foreign, ownNote, foreignNote };
}

type Opened = Awaited<ReturnType<typeof open>>;
/** A request, and a text that only a caller who may read everything gets. */
type Row = readonly [name: string, request: (call: Call) => Promise<ServiceResponse>, only: RegExp];

const ANY = new RegExp(`${SECRET}|${FOREIGN}`);

/** Requests of each surface. Links repeat the query, which therefore has a part of each text alone. */
function rowsOf({ folderId, own, foreign, ownNote, foreignNote }: Opened): readonly Row[] {
  const get =
    (path: string, accept = 'application/json') =>
    (call: Call) =>
      call('GET', path, undefined, { accept });
  const tool = (name: string, args: JsonObject) => (call: Call) => callTool(call, name, args);
  const resource = (id: string) => (call: Call) =>
    ask(call, 'resources/read', { uri: `plinth://files/${id}` });
  const reads = [`/files/${own}`, '/files?page=1', `/folders/${folderId}?include=files`];
  const batched = reads.map((path) => ({ method: 'GET', path }));
  const change = (body: JsonObject, headers?: Record<string, string>) => (call: Call) =>
    call('PATCH', `/files/${own}`, body, headers);
  const forms = [undefined, HTML, CSV];
  const lists = ['/files', '/files?page=1', `/folders/${folderId}/files?page=1`];
  return [
    ...forms.map(
      (accept): Row => [`a record as ${accept}`, get(`/files/${own}`, accept), new RegExp(SECRET)],
    ),
    ...forms.map((accept): Row => [`a hidden record as ${accept}`, get(`/files/${foreign}`, accept), ANY]),
    ['fields of a record', get(`/files/${own}?fields=secret`), new RegExp(SECRET)],
    ...lists.flatMap((path) => forms.map((accept): Row => [`${path} as ${accept}`, get(path, accept), ANY])),
    ['an array', get('/files?sort=title'), ANY],
    ['lines', get('/files', NDJSON), ANY],
    ['lines below a parent', get(`/folders/${folderId}/files`, NDJSON), ANY],
    ['version 2', get('/api/v2/files?limit=9'), ANY],
    ['a search', get(`/files?search=quag&page=1`), new RegExp(`"title":"${FOREIGN}"`)],
    ['a search of a hidden field', get(`/files?search=zeb&page=1`), /"total":2/],
    ['a total', get('/files?page=1&limit=1'), /"total":2/],
    ['a total as HTML', get('/folders?page=1&filter[files][some][secret][prefix]=zeb', HTML), /Desk/],
    ['groups', get('/files?group=title'), new RegExp(FOREIGN)],
    ['groups of a hidden field', get('/files?group=secret'), new RegExp(SECRET)],
    ['QUERY', (call) => call('QUERY', '/files', { filter: { folder: { name: 'Desk' } }, page: 1 }), ANY],
    ['included records', get(`/folders/${folderId}?include=files`), ANY],
    ['included records of a list', get('/folders?page=1&include=files'), ANY],
    ['an included record', get(`/notes/${foreignNote}?include=file`), new RegExp(FOREIGN)],
    ['fields of an included record', get(`/notes/${ownNote}?include=file`), new RegExp(SECRET)],
    ['numbers of included records', get(`/folders/${folderId}?include=files.count`), /"files.count":2/],
    ['a condition on a hidden field', get('/files?page=1&filter[secret][prefix]=zeb'), /"total":2/],
    ['a condition over a relation', get(`/notes?page=1&filter[file][title][prefix]=quag`), /of Bob/],
    ['a hidden field over a relation', get('/notes?page=1&filter[file][secret][prefix]=zeb'), /of Ann/],
    ['one backwards', get('/folders?page=1&filter[files][some][secret][prefix]=zeb'), /Desk/],
    ['a batch', (call) => call('POST', '/batch', batched), ANY],
    ['a tool', tool('files_get', { id: own }), ANY],
    ['a tool for lists', tool('files_list', {}), ANY],
    ['a tool for groups', tool('files_group', { group: ['secret'] }), ANY],
    ['a resource of agents', resource(own), ANY],
    ['a hidden resource of agents', resource(foreign), ANY],
    ...(CITUS_URL === ''
      ? [
          ['the history', get(`/files/${own}/history`), new RegExp(SECRET)] as const,
          ['the history of a hidden record', get(`/files/${foreign}/history`), ANY] as const,
        ]
      : []),
    ['events', get('/events?types=files.*'), ANY],
    ['a live query', get('/events?types=files.*&filter[secret][prefix]=zeb'), ANY],
    ['412', change({ title: 'Plan' }, { 'if-match': '"99"' }), new RegExp(SECRET)],
    ['409', change({ title: 'Plan', _version: 99 }), new RegExp(SECRET)],
    ['an explanation', get(`/access?path=/files/${foreign}&as=bob`), /"permitted":true/],
  ];
}

t.test('no surface shows a record or a field that its caller may not read', async (t) => {
  const opened = await open(t);
  const { admin, ann } = opened;
  for (const [name, request, only] of rowsOf(opened)) {
    t.match((await request(admin)).text, only, `${name}: an operator gets it`);
    const reply = await request(ann);
    t.notMatch(reply.text, only, name);
    t.notMatch(reply.text, ANY, name);
    t.ok(reply.status < 500, `${name}: ${reply.status}`);
  }
});

t.test('no surface writes a record or a field that its caller may not write', async (t) => {
  const opened = await open(t);
  const { admin, ann, own, foreign, folderId } = opened;
  const stateOf = async () =>
    (await admin('GET', '/files?page=1')).json.data.map(({ id, title, secret, owner }: JsonObject) => [
      ...[id, title, secret, owner],
    ]);
  const before = await stateOf();
  const body = { title: 'Mine', owner: 'ann' };
  const operations = [{ op: 'replace', path: '/title', value: 'Mine' }];
  const rows: readonly (readonly [string, string, unknown, number, Readonly<Record<string, string>>?])[] = [
    ['PUT', `/files/${foreign}`, body, 404],
    ['PATCH', `/files/${foreign}`, body, 404],
    ['PATCH', `/files/${foreign}`, operations, 404, { 'content-type': 'application/json-patch+json' }],
    ['PATCH', `/files/${foreign}`, body, 404, { 'if-match': '*' }],
    ['DELETE', `/files/${foreign}`, undefined, 204],
    ['DELETE', `/files/${foreign}`, undefined, 412, { 'if-match': '*' }],
    ['DELETE', `/files/${own}`, undefined, 403],
    ['PATCH', `/files/${own}`, { owner: 'bob' }, 403],
    ['POST', '/files', { title: 'New', owner: 'bob' }, 403],
    ['POST', `/folders/${folderId}/files`, { title: 'New', owner: 'bob' }, 403],
    ['POST', '/files', JSON.stringify({ title: 'New', owner: 'bob' }), 422, { 'content-type': NDJSON }],
    ['PATCH', `/files?filter[title]=${FOREIGN}`, { title: 'Mine' }, 200],
    ['PATCH', '/files?filter[secret]=zebra', { title: 'Mine' }, 403],
    ['DELETE', `/files?filter[title]=${FOREIGN}`, undefined, 200],
    ['POST', '/batch', { operations: [{ method: 'PATCH', path: `/files/${foreign}`, body }] }, 404],
    ['POST', '/batch', { operations: [{ method: 'DELETE', path: `/files/${own}` }] }, 403],
    ['POST', '/notes', { text: 'a', fileId: foreign }, 422],
    ['POST', '/webhooks', { url: 'https://example.org/', types: 'files.*' }, 403],
  ];
  for (const [method, path, given, status, headers] of rows) {
    const type = headers?.['content-type'];
    const reply = await ann(method, path, given, { 'content-type': type ?? 'application/json', ...headers });
    t.equal(reply.status, status, `${method} ${path} ${reply.text}`);
    t.notMatch(reply.text, ANY, `${method} ${path}`);
    if (reply.status === 200) t.equal(reply.json.meta.matched, 0, `${method} ${path}`);
    t.same(await stateOf(), before, `${method} ${path}`);
  }
});
