import type { JsonObject } from '../../src/json.js';
import { PageVisitor } from '../features/pages/visitor.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const text: JsonObject = { type: 'string', maxLength: 100, 'x-index': true };
const reference = (to: string): JsonObject => ({
  type: 'string',
  'x-references': to,
  'x-on-delete': 'cascade',
});

const DECLARATIONS = {
  'articles.json': {
    properties: { title: text, state: text, createdBy: { ...text, 'x-set': '$caller' } },
    'x-collection': {
      list: 'page',
      access: [
        { can: 'read', to: 'anyone', where: { state: 'published' } },
        { can: ['read', 'update', 'delete'], where: { createdBy: '$caller' } },
        { can: ['create', 'update'], scope: 'staff' },
        { can: 'all', scope: 'admin' },
      ],
    },
  },
  'remarks.json': {
    properties: { text, articleId: reference('articles') },
    'x-collection': { nested: 'articleId', access: [{ can: 'all', scope: 'staff' }] },
  },
  // Nobody changes or deletes an entry.
  'entries.json': {
    properties: { text, secret: text },
    'x-collection': { access: [{ can: 'create' }, { can: 'read', fields: ['text'] }] },
  },
  'labels.json': { properties: { name: text } },
};

async function open(t: Test) {
  const service = await testService(t, {
    AUTH: 'api-key',
    MCP: 'on',
    COLLECTIONS: declare(
      t,
      Object.fromEntries(
        Object.entries(DECLARATIONS).map(([file, each]) => [file, { type: 'object', ...each } as JsonObject]),
      ),
    ),
    DATABASE_URL: await undeclaredDatabase(t),
  });
  const by = (headers: Readonly<Record<string, string>>) => ({
    headers,
    send: (method: string, path: string, body?: unknown, more = {}) =>
      service.send(method, path, {
        ...(body === undefined ? {} : { body: body as JsonObject }),
        headers: { ...headers, ...more },
      }),
    page: async (path: string) => (await new PageVisitor(service, headers).get(path)).text,
  });
  const as = async (subject: string, ...scopes: string[]) =>
    by({ 'x-api-key': (await makeKey(service.db, { subject, scopes })).key });
  const callers = {
    stranger: by({}),
    reader: await as('rita', 'articles:read', 'labels:read'),
    ann: await as('ann', 'self', 'articles:write'),
    staff: await as('stan', 'self', 'staff'),
    admin: await as('root', 'admin'),
  };
  const made = async (path: string, body: object, { send } = callers.admin): Promise<string> => {
    const { status, json, text } = await send('POST', path, body);
    t.equal(status, 201, text);
    return `${path}/${json.id}`;
  };
  const published = await made('/articles', { title: 'News', state: 'published' });
  const author = await as('ann', 'self', 'staff');
  const own = await made('/articles', { title: 'Own', state: 'published' }, author);
  const entry = await made('/entries', { text: 'a' });
  return { service, callers, published, own, entry };
}

type Callers = Awaited<ReturnType<typeof open>>['callers'];
type Row = readonly [caller: keyof Callers, ...expected: string[]];

t.test('a record has the links that its caller might follow, and an ETag for these', async (t) => {
  const { callers, published, own, entry } = await open(t);
  const rows: readonly (readonly [path: string, ...Row])[] = [
    [published, 'stranger', 'self'],
    [published, 'reader', 'self'],
    [published, 'ann', 'self'],
    [published, 'staff', 'self,update,remarks'],
    [published, 'admin', 'self,update,delete,remarks'],
    [own, 'reader', 'self'],
    [own, 'ann', 'self,update,delete'],
    [own, 'staff', 'self,update,remarks'],
    [entry, 'staff', 'self'],
    [entry, 'admin', 'self'],
  ];
  for (const [path, caller, links] of rows) {
    const { send } = callers[caller];
    const { json, headers } = await send('GET', path);
    t.equal(Object.keys(json._links).join(), links, `${caller} ${path}`);
    const list = `/api/v2${path.slice(0, path.lastIndexOf('/'))}?limit=9`;
    const inList = (await send('GET', list)).json.data.find(({ id }: JsonObject) => id === json.id);
    // A list does not find out who its authors are.
    const possible = { ann: 'self,update,delete', staff: 'self,update,delete,remarks' };
    const listed = path === entry ? links : (possible[caller as 'ann' | 'staff'] ?? links);
    t.equal(Object.keys(inList._links).join(), listed, `${caller} ${list}`);
    const known = { 'If-None-Match': headers.etag! };
    t.equal((await send('GET', path, undefined, known)).status, 304, `${caller} ${path}`);
    t.equal((await send('HEAD', path)).headers.etag, headers.etag);
  }
  const etagOf = async (caller: keyof Callers, path: string) =>
    (await callers[caller].send('GET', path)).headers.etag!;
  t.equal(await etagOf('admin', published), await etagOf('admin', published));
  t.not(await etagOf('staff', published), await etagOf('admin', published));
  t.not(await etagOf('staff', published), await etagOf('reader', published));
  const etag = await etagOf('staff', published);
  const changed = await callers.staff.send('PATCH', published, { title: 'Old' }, { 'If-Match': etag });
  t.match(changed, { status: 200, json: { title: 'Old' } }, 'a write knows the version in it');
  t.equal(Object.keys(changed.json._links).join(), 'self,update,remarks');
  t.equal(changed.headers.etag, await etagOf('staff', published));
  const stale = await callers.staff.send('PATCH', published, { title: 'Older' }, { 'If-Match': etag });
  t.equal(stale.status, 412);
  t.equal(Object.keys(stale.json.error.details.current._links).join(), 'self,update,remarks');
  const created = await callers.admin.send('POST', '/entries', { text: 'b' });
  t.equal(Object.keys(created.json._links).join(), 'self');
});

t.test('OPTIONS lists the methods that its caller might be permitted', async (t) => {
  const { service, callers, own, entry } = await open(t);
  const rows: readonly (readonly [path: string, ...Row])[] = [
    ['/articles', 'stranger', 'GET, HEAD, QUERY, POST, OPTIONS'],
    ['/articles', 'reader', 'GET, HEAD, QUERY, OPTIONS'],
    ['/articles', 'ann', 'GET, HEAD, QUERY, OPTIONS'],
    ['/articles', 'staff', 'GET, HEAD, QUERY, POST, OPTIONS'],
    [own, 'reader', 'GET, HEAD, OPTIONS'],
    [own, 'ann', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    [own, 'stranger', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    [`${own}/remarks`, 'ann', 'OPTIONS'],
    [`${own}/remarks`, 'staff', 'GET, HEAD, QUERY, POST, OPTIONS'],
    ['/remarks', 'ann', 'OPTIONS'],
    ['/remarks', 'stranger', 'GET, HEAD, QUERY, POST, OPTIONS'],
    ['/entries', 'admin', 'GET, HEAD, QUERY, POST, OPTIONS'],
    [entry, 'admin', 'GET, HEAD, OPTIONS'],
    [entry, 'stranger', 'GET, HEAD, OPTIONS'],
    ['/labels', 'reader', 'GET, HEAD, QUERY, OPTIONS'],
    ['/labels', 'stranger', 'GET, HEAD, QUERY, POST, OPTIONS'],
    ['/labels', 'admin', 'GET, HEAD, QUERY, POST, OPTIONS'],
  ];
  for (const [path, caller, allow] of rows) {
    const { status, headers } = await callers[caller].send('OPTIONS', path);
    t.same([status, headers.allow], [204, allow], `${caller} ${path}`);
    t.equal('accept-post' in headers, allow!.includes('POST'), `${caller} ${path}`);
    t.equal('accept-patch' in headers, allow!.includes('PATCH'), `${caller} ${path}`);
    if (caller === 'stranger') continue;
    const operations = [{ method: 'OPTIONS', path }];
    const { json } = await callers[caller].send('POST', '/batch', { operations });
    t.match(json.results, [{ status: 204, headers: { allow } }], `${caller} ${path} in a batch`);
  }
  t.match(await callers.admin.send('POST', entry, {}), {
    status: 405,
    headers: { allow: 'GET, HEAD, OPTIONS' },
  });
  t.match(await callers.admin.send('DELETE', entry), {
    status: 403,
    json: { error: { code: 'ACCESS_DENIED' } },
  });
  t.equal((await callers.reader.send('DELETE', own)).status, 403);
  t.equal((await callers.stranger.send('DELETE', own)).status, 401);
  const wrong = { 'x-api-key': 'no key' };
  t.equal((await service.send('OPTIONS', '/articles', { headers: wrong })).status, 401);
});

t.test('OpenAPI, tools and pages have what some grant might permit', async (t) => {
  const { callers, published, own, entry } = await open(t);
  const methodsOf = async (caller: keyof Callers): Promise<string[]> => {
    const { paths } = (await callers[caller].send('GET', '/openapi.json')).json;
    return Object.entries(paths as Record<string, JsonObject>)
      .filter(([path]) => /^\/(articles|remarks|entries)/.test(path))
      .flatMap(([path, operations]) => Object.keys(operations).map((method) => `${method} ${path}`));
  };
  const [ann, staff, admin] = [await methodsOf('ann'), await methodsOf('staff'), await methodsOf('admin')];
  t.ok(ann.includes('patch /articles/{id}') && !ann.includes('post /articles'));
  t.notMatch(ann.join(), /remarks/);
  t.ok(staff.includes('post /articles') && staff.includes('get /articles/{id}/remarks'));
  t.ok(admin.includes('post /entries') && !admin.includes('delete /entries/{id}'));

  const toolsOf = async (caller: keyof Callers): Promise<string[]> => {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const accept = { accept: 'application/json, text/event-stream' };
    const { json } = await callers[caller].send('POST', '/mcp', request, accept);
    return json.result.tools.map(({ name }: { name: string }) => name);
  };
  const tools = await toolsOf('ann');
  t.ok(tools.includes('articles_update') && !tools.includes('articles_create'));
  t.notMatch(tools.join(), /remarks/);
  t.notMatch((await toolsOf('admin')).join(), /entries_update|entries_delete/);

  const pages: readonly (readonly [caller: keyof Callers, path: string, has: RegExp, lacks: RegExp])[] = [
    ['ann', '/articles', /News/, />New article</],
    ['staff', '/articles', />New article</, /never/],
    ['ann', published, /News/, />Edit<|>Delete<|remarks/],
    ['ann', own, />Edit<[\s\S]*>Delete</, /remarks/],
    ['staff', own, /remarks[\s\S]*>Edit</, />Delete</],
    ['admin', entry, /<h1/, />Edit<|>Delete</],
    ['ann', '/', /articles/, /"\/remarks"/],
    ['staff', '/', /"\/remarks"/, /never/],
    ['stranger', '/', /"\/remarks"/, /never/],
  ];
  for (const [caller, path, has, lacks] of pages) {
    const page = await callers[caller].page(path);
    t.match(page, has, `${caller} ${path}`);
    t.notMatch(page, lacks, `${caller} ${path}`);
  }
});
