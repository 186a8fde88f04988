import type { JsonObject } from '../../src/json.js';
import { PageVisitor } from '../features/pages/visitor.js';
import { ask, callsWith, declaredService, making, valuesOf } from '../support/callers.js';
import { makeKey } from '../support/credentials.js';
import { ADMIN, declared, reference, text, withAccess } from '../support/declared.js';
import t, { type Test } from '../support/test.js';

const DECLARATIONS = {
  'articles.json': withAccess(
    { title: text, state: text, createdBy: { ...text, 'x-set': '$caller' } },
    [
      { can: 'read', to: 'anyone', where: { state: 'published' } },
      { can: ['read', 'update', 'delete'], where: { createdBy: '$caller' } },
      { can: ['create', 'update'], scope: 'staff' },
      ADMIN,
    ],
    { list: 'page' },
  ),
  'remarks.json': withAccess({ text, articleId: reference('articles') }, [{ can: 'all', scope: 'staff' }], {
    nested: 'articleId',
  }),
  // Nobody changes or deletes an entry.
  'entries.json': withAccess({ text, secret: text }, [{ can: 'create' }, { can: 'read', fields: ['text'] }]),
  'labels.json': declared({ name: text }),
};

async function open(t: Test) {
  const service = await declaredService(t, DECLARATIONS, { AUTH: 'api-key', MCP: 'on' });
  const by = (headers: Readonly<Record<string, string>>) => ({
    headers,
    send: callsWith(service, headers),
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
  const made = async (path: string, body: JsonObject, { send } = callers.admin) =>
    `${path}/${await making(t, send)(path, body)}`;
  const published = await made('/articles', { title: 'News', state: 'published' });
  const author = await as('ann', 'self', 'staff');
  const own = await made('/articles', { title: 'Own', state: 'published' }, author);
  const entry = await made('/entries', { text: 'a' });
  return { service, callers, published, own, entry };
}

type Callers = Awaited<ReturnType<typeof open>>['callers'];

t.test('a record has the links of its collection for each caller, and one ETag', async (t) => {
  const { callers, published, entry } = await open(t);
  for (const [path, links, ...readers] of [
    [published, 'self,update,delete,remarks', 'stranger', 'reader', 'ann', 'staff', 'admin'],
    [entry, 'self,update,delete', 'ann', 'staff', 'admin'],
  ] as const)
    for (const caller of readers) {
      const { json, headers } = await callers[caller].send('GET', path);
      t.equal(Object.keys(json._links).join(), links, `${caller} ${path}`);
      if (path === published) t.equal(headers.etag, '"1"', `${caller} ${path}`);
      const list = `/api/v2${path.slice(0, path.lastIndexOf('/'))}?limit=9`;
      const inList = (await callers[caller].send('GET', list)).json.data.find(
        ({ id }: JsonObject) => id === json.id,
      );
      t.equal(Object.keys(inList._links).join(), links, `${caller} ${list}`);
    }
});

t.test('OPTIONS lists the methods of the resource, whatever its caller may do', async (t) => {
  const { service, callers, own, entry } = await open(t);
  const rows = [
    ['/articles', 'GET, HEAD, QUERY, POST, OPTIONS'],
    [own, 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    [`${own}/remarks`, 'GET, HEAD, QUERY, POST, OPTIONS'],
    [entry, 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ] as const;
  for (const [path, allow] of rows)
    for (const caller of ['stranger', 'reader', 'admin'] as const) {
      const { status, headers } = await callers[caller].send('OPTIONS', path);
      t.same([status, headers.allow], [204, allow], `${caller} ${path}`);
      t.equal('accept-post' in headers, allow.includes('POST'), `${caller} ${path}`);
      t.equal('accept-patch' in headers, allow.includes('PATCH'), `${caller} ${path}`);
      if (caller === 'stranger') continue;
      const operations = [{ method: 'OPTIONS', path }];
      const { json } = await callers[caller].send('POST', '/batch', { operations });
      t.match(json.results, [{ status: 204, headers: { allow } }], `${caller} ${path} in a batch`);
    }
  const { status, headers } = await callers.admin.send('POST', entry, {});
  t.same([status, headers.allow], [405, 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS']);
  const denied = await callers.admin.send('DELETE', entry);
  t.same([denied.status, denied.json.error.code], [403, 'ACCESS_DENIED']);
  t.equal((await callers.reader.send('DELETE', own)).status, 403);
  t.equal((await callers.stranger.send('DELETE', own)).status, 401);
  const wrong = { 'x-api-key': 'no key' };
  t.equal((await service.send('OPTIONS', '/articles', { headers: wrong })).status, 204);
});

t.test('documents, tools and forms follow the scopes, and a page the writes of its record', async (t) => {
  const { callers, published, own, entry } = await open(t);
  const methodsOf = async (caller: keyof Callers): Promise<string[]> => {
    const { paths } = (await callers[caller].send('GET', '/openapi.json')).json;
    return Object.entries(paths as Record<string, JsonObject>)
      .filter(([path]) => /^\/(articles|remarks|entries)/.test(path))
      .flatMap(([path, operations]) => Object.keys(operations).map((method) => `${method} ${path}`));
  };
  const [reader, ann, staff, admin] = await Promise.all(
    (['reader', 'ann', 'staff', 'admin'] as const).map(methodsOf),
  );
  t.notMatch(reader!.join(), /(post|patch|put|delete) |remarks|entries/);
  t.same([ann, staff], [admin, admin]);
  t.ok(admin!.includes('delete /entries/{id}') && admin!.includes('get /articles/{id}/remarks'));

  const toolsOf = async (caller: keyof Callers): Promise<JsonObject[]> => {
    const { json } = await ask(callers[caller].send, 'tools/list');
    return json.result.tools.filter(({ name }: JsonObject) =>
      /^(articles|remarks|entries)_/.test(String(name)),
    );
  };
  const tools = await toolsOf('ann');
  t.same(tools, await toolsOf('admin'));
  const update = tools.find(({ name }) => name === 'entries_update');
  t.match(update, { inputSchema: { properties: { patch: { properties: { secret: {} } } } } });
  const readers = valuesOf(await toolsOf('reader'), 'name');
  t.same(readers, ['articles_list', 'articles_group', 'articles_get']);

  const pages: readonly (readonly [caller: keyof Callers, path: string, has: RegExp, lacks: RegExp])[] = [
    ['reader', '/articles', /News/, />New article</],
    ['ann', '/articles', /News/, />New article</],
    ['staff', '/articles', />New article</, /never/],
    ['ann', published, /News/, />Edit<|>Delete…</],
    ['ann', own, />Edit<[\s\S]*>Delete…</, /never/],
    ['staff', own, />Edit<[\s\S]*Remarks/, />Delete…</],
    ['admin', entry, /<h1/, />Edit<|>Delete…</],
    ['reader', '/', /articles/, /"\/remarks"/],
    ['ann', '/', /"\/remarks"/, /never/],
    ['staff', '/', /"\/remarks"/, /never/],
    ['stranger', '/', /"\/remarks"/, /never/],
  ];
  for (const [caller, path, has, lacks] of pages) {
    const page = await callers[caller].page(path);
    t.match(page, has, `${caller} ${path}`);
    t.notMatch(page, lacks, `${caller} ${path}`);
  }
});
