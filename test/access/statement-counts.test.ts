import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import type { JsonObject } from '../../src/json.js';
import { ask, type Call, callTool, openForCallers } from '../support/callers.js';
import { ADMIN, reference, text, withAccess } from '../support/declared.js';
import { SIGN_IN } from '../support/names.js';
import { type ServiceResponse, withoutRequestId } from '../support/service.js';
import t, { type Test } from '../support/test.js';

/** The names of the statements that requests have begun. */
let begun: string[] = [];
const nothing = () => Promise.resolve();
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(
  new BasicTracerProvider({
    spanProcessors: [
      {
        onStart: ({ kind, name }) => void (kind === SpanKind.CLIENT && begun.push(name)),
        onEnd: () => undefined,
        forceFlush: nothing,
        shutdown: nothing,
      },
    ],
  }),
);

/** Whether a statement runs depends on how long the connection and the credential have been known. */
const UNRELATED = ['connect', 'find_credentials'];

/** The names of the statements that requests have begun since the last time. */
function statements(): string[] {
  const found = begun.filter((name) => !UNRELATED.includes(name));
  begun = [];
  return found;
}

const references = (to: string, onDelete = 'remove'): JsonObject => ({
  type: 'array',
  maxItems: 1000,
  items: reference(to, onDelete),
});

const DECLARATIONS = {
  // Records of users, whose shorthand grants are those of `self`.
  'posts.json': {
    properties: { title: text, related: references('posts'), bound: references('posts', 'restrict') },
  },
  'files.json': withAccess(
    { title: { ...text, 'x-search': true }, owner: text, copies: references('files') },
    [{ can: ['read', 'create', 'update', 'delete'], where: { owner: '$caller' } }, ADMIN],
    { history: true },
  ),
  'papers.json': withAccess({ title: text, owner: text, fileId: reference('files'), note: text }, [
    { can: 'read', fields: ['title', 'owner', 'fileId'] },
    { can: ['create', 'update', 'delete'], where: { owner: '$caller' } },
    ADMIN,
  ]),
  'cards.json': {
    type: 'object',
    properties: { title: text, added: { ...text, readOnly: true } },
  },
  // Of users, which have no access rules, a caller may read itself alone.
  'tasks.json': withAccess({ title: text, owner: text, assigneeId: reference('users') }, [
    { can: 'all', where: { owner: '$caller' } },
    ADMIN,
  ]),
  'notes.json': withAccess(
    { text, fileId: reference('files'), owner: text },
    [{ can: 'all', where: { file: { owner: '$caller' } } }, ADMIN],
    { nested: 'fileId' },
  ),
};

async function open(t: Test) {
  const { as, admin, made } = await openForCallers(t, DECLARATIONS);
  const user = await made('/users', { email: 'ann@example.org', name: 'Ann' });
  return { admin, made, user, ann: await as(user, 'self') };
}

t.test('a write looks up all ids of arrays of references by one statement', SIGN_IN, async (t) => {
  const { made, user, ann } = await open(t);
  const many = async (path: string, body: JsonObject) =>
    Promise.all(Array.from({ length: 30 }, () => made(path, body)));
  const kinds: readonly [path: string, own: JsonObject, fields: readonly string[], ids: string[]][] = [
    ['/posts', { userId: user }, ['related', 'bound'], await many('/posts', { userId: user })],
    ['/files', { owner: user }, ['copies'], await many('/files', { owner: user })],
  ];
  for (const [path, own, fields, ids] of kinds) {
    const setting = (count: number): JsonObject => ({
      ...own,
      ...Object.fromEntries(fields.map((field) => [field, ids.slice(0, count)])),
    });
    const target = `${path}/${await made(path, own)}`;
    const lines = (count: number) => `${JSON.stringify(setting(count))}\n`.repeat(count);
    const rows: readonly (readonly [name: string, (count: number) => Promise<ServiceResponse>])[] = [
      ['POST', (count) => ann('POST', path, setting(count))],
      ['PUT', (count) => ann('PUT', target, setting(count))],
      ['PATCH', (count) => ann('PATCH', target, setting(count))],
      ['a batch', (count) => batch(ann, { method: 'POST', path, body: setting(count) })],
      ['many records', (count) => ann('POST', path, lines(count), AS_LINES)],
    ];
    for (const [name, send] of rows) {
      const counts: string[][] = [];
      for (const count of [2, 30]) {
        // The references of a former request would remain without a look at them.
        await ann('PATCH', target, Object.fromEntries(fields.map((field) => [field, []])));
        statements();
        const { status, text: found } = await send(count);
        t.ok([200, 201].includes(status), `${name} ${found}`);
        counts.push(statements());
      }
      t.same(counts[1], counts[0], `${name} ${path}`);
      t.not(counts[0]!.length, 0, name);
    }
  }
});

/** A request about a record that the caller may not read, or about none. */
type About = (call: Call, id: string) => Promise<ServiceResponse>;
const sends =
  (method: string, path = '', body?: unknown, headers?: Readonly<Record<string, string>>): About =>
  (call, id) =>
    call(method, `/files/${id}${path}`, body, headers);
const ANY = { 'if-match': '*' };
const AS_PATCH = { 'content-type': 'application/json-patch+json' };
const AS_LINES = { 'content-type': 'application/x-ndjson' };
const batch = (call: Call, ...operations: JsonObject[]) => call('POST', '/batch', operations);

const ABOUT: readonly (readonly [name: string, About])[] = [
  ...['application/json', 'text/html', 'text/csv'].flatMap((accept) =>
    ['GET', 'HEAD'].map(
      (method) => [`${method} ${accept}`, sends(method, '', undefined, { accept })] as const,
    ),
  ),
  ['GET with a validator', sends('GET', '', undefined, { 'if-none-match': '"1"' })],
  ['GET with *', sends('GET', '', undefined, { 'if-none-match': '*' })],
  ['GET with If-Match', sends('GET', '', undefined, ANY)],
  ['an include', sends('GET', '?include=notes')],
  ['the history', sends('GET', '/history')],
  ['a list below', sends('GET', '/notes?page=1')],
  ['lines below', sends('GET', '/notes', undefined, { accept: 'application/x-ndjson' })],
  ['a creation below', sends('POST', '/notes', { text: 'a' })],
  ['PUT', sends('PUT', '', { title: 'a' })],
  ['PUT with If-Match', sends('PUT', '', { title: 'a' }, { 'if-match': '"1"' })],
  ['PATCH', sends('PATCH', '', { title: 'a' })],
  ['PATCH with If-Match', sends('PATCH', '', { title: 'a' }, ANY)],
  ['PATCH that is not valid', sends('PATCH', '', { title: 5 })],
  ['a JSON Patch', sends('PATCH', '', [{ op: 'test', path: '/title', value: 'secret' }], AS_PATCH)],
  ['DELETE', sends('DELETE')],
  ['DELETE with If-Match', sends('DELETE', '', undefined, ANY)],
  ['a filter by id', (call, id) => call('GET', `/files?page=1&filter[id]=${id}`)],
  ['QUERY', (call, id) => call('QUERY', '/files', { filter: { id }, page: 1 })],
  ['PATCH of a list', (call, id) => call('PATCH', `/files?filter[id]=${id}`, { title: 'a' })],
  ['DELETE of a list', (call, id) => call('DELETE', `/files?filter[id]=${id}`)],
  ['a reference', (call, id) => call('POST', '/notes', { text: 'a', fileId: id })],
  ['an array of references', (call, id) => call('POST', '/files', { owner: 'ann', copies: [id] })],
  ['many records', (call, id) => call('POST', '/notes', JSON.stringify({ fileId: id }), AS_LINES)],
  ['a batch', (call, id) => batch(call, { method: 'GET', path: `/files/${id}` })],
  ['a change in a batch', (call, id) => batch(call, { method: 'PATCH', path: `/files/${id}`, body: {} })],
  ['a deletion in a batch', (call, id) => batch(call, { method: 'DELETE', path: `/files/${id}` })],
  ['a tool that reads', (call, id) => callTool(call, 'files_get', { id })],
  ['a tool that changes', (call, id) => callTool(call, 'files_update', { id, patch: { title: 'a' } })],
  ['a tool that deletes', (call, id) => callTool(call, 'files_delete', { id })],
  ['a resource of agents', (call, id) => ask(call, 'resources/read', { uri: `plinth://files/${id}` })],
];

const ABSENT = ['01900000-0000-7000-8000-000000000000', '01900000-0000-7000-8000-000000000001'] as const;

t.test('a hidden record has the response and the statements of an absent one', SIGN_IN, async (t) => {
  const { made, ann, admin } = await open(t);
  const hidden = await made('/files', { title: 'secret', owner: 'bob' });
  await made('/notes', { text: 'secret', fileId: hidden });
  const path = `/files/${hidden}`;
  const before = (await admin('GET', path)).text;
  for (const [name, send] of ABOUT) {
    const found = [];
    // The first request of each row may prepare statements for the next ones, and the second one about an id may find a page in memory.
    for (const id of [ABSENT[0], hidden, ABSENT[1]]) {
      statements();
      const { status, text: body, headers } = await send(ann, id);
      const shown = withoutRequestId(body).replaceAll(id, '<id>');
      found.push({ status, shown, type: headers['content-type'], ran: statements() });
    }
    t.same(found[1], found[2], name);
    t.ok(found[1]!.status < 500, name);
  }
  t.equal((await admin('GET', path)).text, before);
});

t.test('writes take few statements, whether they are permitted or not', SIGN_IN, async (t) => {
  const { made, ann, admin, user } = await open(t);
  const [file, other] = [await made('/files', { owner: user }), await made('/files', { owner: 'bob' })];
  const own = (path: string) => () => made(path, { title: 'a', owner: user });
  const foreign = (path: string) => () => made(path, { title: 'a', owner: 'bob' });
  /** The statuses of a patch, a replacement, failed preconditions and a deletion, and the most statements of each. */
  type Kind = readonly [name: string, Call, path: string, make: () => Promise<string>, number[], number];
  const post = () => made('/posts', { title: 'a', userId: user });
  const kinds: readonly Kind[] = [
    ['the owner', ann, '/files', own('/files'), [200, 200, 412, 204], 2],
    ['the owner with hidden fields', ann, '/papers', own('/papers'), [200, 200, 412, 204], 2],
    ['the owner with a reference to users', ann, '/tasks', own('/tasks'), [200, 200, 412, 204], 2],
    ['a reader', ann, '/papers', foreign('/papers'), [403, 403, 403, 403], 3],
    ['a stranger', ann, '/files', foreign('/files'), [404, 404, 404, 204], 2],
    ['an administrator', admin, '/files', own('/files'), [200, 200, 412, 204], 2],
    ['an administrator with references', admin, '/papers', own('/papers'), [200, 200, 412, 204], 2],
    ['a shorthand', ann, '/posts', post, [200, 200, 412, 204], 2],
    ['no rules', admin, '/cards', () => made('/cards', { title: 'a' }), [200, 200, 412, 204], 2],
  ];
  for (const [name, call, path, make, statuses, most] of kinds) {
    const [patched, put, failed, removed] = statuses as [number, number, number, number];
    const target = `${path}/${await make()}`;
    const body = {
      title: 'b',
      ...(path === '/posts' ? { userId: user } : path !== '/cards' && { owner: user }),
    };
    const linked = {
      ...body,
      ...(path === '/papers' && { fileId: file }),
      ...(path === '/tasks' && { assigneeId: user }),
    };
    const stale = { 'if-match': '"99"' };
    const rows: readonly (readonly [string, number, JsonObject | undefined, Record<string, string>?])[] = [
      ['PATCH', patched, linked],
      ['PUT', put, body],
      ['PATCH', patched, body, { 'if-match': '*' }],
      ['PATCH', failed, body, stale],
      ['PUT', failed, body, stale],
      ['DELETE', failed === 404 ? 412 : failed, undefined, stale],
      ['DELETE', removed, undefined],
    ];
    for (const [method, status, given, headers] of rows) {
      statements();
      const response = await call(method, target, given, headers);
      const ran = statements();
      t.equal(response.status, status, `${name}: ${method} ${response.text}`);
      t.ok(ran.length <= most, `${name}: ${method} ${JSON.stringify(headers)}: ${ran.join(', ')}`);
    }
  }
  const unreadable = `/papers/${await foreign('/papers')()}`;
  t.equal((await ann('PATCH', unreadable, { title: 5 })).status, 403, 'before the body is validated');
  const paper = `/papers/${await own('/papers')()}`;
  for (const [body, status] of [
    [{ fileId: other }, 422],
    [{ owner: 'bob' }, 403],
  ] as const) {
    statements();
    t.equal((await ann('PATCH', paper, body)).status, status);
    const ran = statements();
    t.ok(ran.length <= 3, ran.join(', '));
  }
});
