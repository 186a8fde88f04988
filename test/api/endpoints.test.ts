import { type ServiceResponse, type TestService, testService, withoutRequestId } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const ABSENT = '01890000-0000-7000-8000-000000000000';
const CREATING = 'application/json, application/x-ndjson, text/csv';
const CHANGING = 'application/merge-patch+json, application/json-patch+json, application/json';
const OF_LISTS = 'GET, HEAD, QUERY, POST, OPTIONS';
const OF_RECORDS = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS';
const NO_USER = { text: '{"error":"No such user."}' };
const NO_PARENT = { text: '{"error":{"code":"USER_NOT_FOUND","message":"No such user."}}' };
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };
const MINIMAL = { prefer: 'return=minimal' };

/** A line of the specification: a request, and the status, header fields and body of its response. */
type Row = readonly [says: string, request: ReturnType<typeof GET>, status: number, expected?: Expected];

interface Expected {
  /** null: the field must not be there. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  /** Members that the JSON body must hold. */
  readonly json?: unknown;
  readonly text?: string | RegExp;
}

const by =
  (method: string) =>
  (path: string, headers: Record<string, string> = {}, body?: unknown) =>
    [method, path, { headers, ...(body !== undefined && { body }) }] as const;
const GET = by('GET');
const POST = by('POST');
const PUT = by('PUT');
const PATCH = by('PATCH');
const DELETE = by('DELETE');
const OPTIONS = by('OPTIONS');
const code = (name: string, details?: object) => ({
  json: { error: { code: name, ...(details && { details }) } },
});
const required = (...fields: string[]) => ({
  json: { errors: fields.map((field) => ({ path: `/${field}`, keyword: 'required' })) },
});

t.test('the specification, line by line, at both addresses', async (t) => {
  const service = await testService(t);
  for (const base of ['', '/api/v1'])
    await t.test(base === '' ? 'at the root' : base, (t) => lines(t, service, base));
});

async function lines(t: Test, service: TestService, base: string): Promise<void> {
  const make = async (path: string, body: object) => (await service.send('POST', base + path, { body })).json;
  const mail = (name: string) => `${name}${base.length}@example.org`;
  const extra = { a: [1, null] };
  const user = await make('/users', { email: mail('u'), name: 'Una', age: 30, extra });
  const item = await make('/items', { name: 'Lamp', price: 9.5, colour: 'red' });
  const post = await make('/posts', { userId: user.id, title: 'Hello' });
  const u = `/users/${user.id}`;
  const i = `/items/${item.id}`;
  const { email, created_at } = user;
  const [noUser, noItem] = [`/users/${ABSENT}`, `/items/${ABSENT}`];
  const vary = base === '' ? 'Accept, API-Version, Accept-Encoding' : 'Accept, Accept-Encoding';
  const accept = (accept: string) => ({ accept });
  const operations = [
    { op: 'test', path: '/_version', value: 3 },
    { op: 'add', path: '/tags', value: ['a'] },
    { op: 'add', path: '/tags/-', value: 'b' },
    { op: 'move', from: '/extra/b', path: '/extra2' },
    { op: 'copy', from: '/tags/0', path: '/first' },
    { op: 'replace', path: '/age', value: 32 },
    { op: 'remove', path: '/extra' },
  ];
  const failing = [
    { op: 'replace', path: '/age', value: 1 },
    { op: 'test', path: '/name', value: 'Nobody' },
  ];
  const minimal = (etag: string) => ({ headers: { 'preference-applied': 'return=minimal', etag }, text: '' });
  const _links = {
    self: { href: u, method: 'GET' },
    update: { href: u, method: 'PATCH' },
    delete: { href: u, method: 'DELETE' },
    posts: { href: `${u}/posts`, method: 'GET' },
  };

  const rows: Row[] = [
    // Record operations
    [
      'List all: JSON array',
      GET('/users'),
      200,
      { headers: { 'content-type': 'application/json' }, text: /^\[/ },
    ],
    [
      'Get one: the user record',
      GET(u),
      200,
      {
        headers: { etag: '"1"', vary, 'api-version': '1' },
        json: { id: user.id, email, name: 'Una', age: 30, extra, _version: 1 },
      },
    ],
    ['Get one, absent', GET(noUser), 404, { headers: { 'content-type': 'application/json' }, ...NO_USER }],
    [
      'Create: Location, the created record',
      POST('/users', {}, { email: mail('new'), name: 'New' }),
      201,
      { headers: { location: /^\/users\/[0-9a-f-]{36}$/, etag: '"1"' }, json: { name: 'New', _version: 1 } },
    ],
    ['Create: validation failure', POST('/users', {}, {}), 400, required('email', 'name')],
    ['Create: its code', POST('/users', {}, {}), 400, code('VALIDATION_ERROR')],
    [
      'Create: a duplicate email',
      POST('/users', {}, { email: ` ${email.toUpperCase()} `, name: 'Dup' }),
      409,
      code('EMAIL_TAKEN', { field: 'email' }),
    ],
    ['Replace, absent', PUT(noUser, {}, { email: mail('x'), name: 'X' }), 404, NO_USER],
    ['Partial update, absent', PATCH(noUser, {}, { name: 'X' }), 404, NO_USER],
    [
      'Partial update: untouched fields keep their values',
      PATCH(u, {}, { age: 31 }),
      200,
      { headers: { etag: '"2"' }, json: { name: 'Una', age: 31, extra, _version: 2 } },
    ],
    [
      'merge-patch: a key set to null deletes it, recursively',
      PATCH(u, MERGE_PATCH, { extra: { a: null, b: { c: null, d: 1 } } }),
      200,
      { json: { extra: { b: { d: 1 } }, _version: 3 } },
    ],
    [
      'json-patch: an array of operations',
      PATCH(u, JSON_PATCH, operations),
      200,
      { json: { tags: ['a', 'b'], extra2: { d: 1 }, first: 'a', age: 32, _version: 4 } },
    ],
    [
      'json-patch: a test that fails changes nothing',
      PATCH(u, JSON_PATCH, failing),
      409,
      code('PATCH_TEST_FAILED', { operation: 1 }),
    ],
    [
      'json-patch: one that cannot be applied',
      PATCH(u, JSON_PATCH, [{ op: 'remove', path: '/nothing' }]),
      422,
      code('UNPROCESSABLE_PATCH'),
    ],
    [
      'json-patch: a malformed one',
      PATCH(u, JSON_PATCH, [{ op: 'drop', path: '/age' }]),
      400,
      { json: { errors: [{ path: '/0' }], error: { code: 'VALIDATION_ERROR' } } },
    ],
    [
      'plain JSON: an object replaces, null is stored for an extra field',
      PATCH(u, {}, { extra2: { z: 1 }, nil: null }),
      200,
      { json: { extra2: { z: 1 }, nil: null, age: 32, _version: 5 } },
    ],
    ['plain JSON: null clears a declared field', PATCH(u, {}, { age: null }), 200, { json: { _version: 6 } }],
    ['The result of a patch obeys the rules', PATCH(u, MERGE_PATCH, { name: null }), 400, required('name')],
    [
      '_version that is not the current one',
      PUT(u, {}, { email, name: 'Old', _version: 1 }),
      409,
      code('VERSION_CONFLICT', { current: { _version: 6 } }),
    ],
    [
      'Replace: omitted fields are cleared',
      PUT(u, {}, { email, name: 'Ulla', _version: 6, id: 'x', created_at: 'y' }),
      200,
      {
        headers: { etag: '"7"' },
        text: new RegExp(
          `^\\{"id":"${user.id}","email":"[^"]+","name":"Ulla","created_at":"${created_at}","updated_at":"[^"]+","_version":7,"_links":`,
        ),
      },
    ],
    ['Prefer: return=minimal, PUT', PUT(u, MINIMAL, { email, name: 'Ulla' }), 204, minimal('"8"')],
    ['Prefer: return=minimal, PATCH', PATCH(u, MINIMAL, { age: 3 }), 204, minimal('"9"')],
    ['Prefer: return=minimal, POST', POST('/items', MINIMAL, { name: 'M' }), 201, minimal('"1"')],
    [
      'such a POST has a Location',
      POST('/items', MINIMAL, { name: 'M' }),
      201,
      { headers: { location: /^\/items\//, 'content-length': '0' } },
    ],
    ['_links of a user', GET(u), 200, { json: { _links } }],

    // Nested collection
    ['Posts of a user', GET(`${u}/posts`), 200, { text: new RegExp(`^\\[\\{"id":"${post.id}",.*\\}\\]$`) }],
    [
      'Create post for a user: no Location, userId from the path',
      POST(`${u}/posts`, {}, { userId: ABSENT, title: 'Nested' }),
      201,
      { headers: { location: null, etag: '"1"' }, json: { userId: user.id, title: 'Nested' } },
    ],
    ['Posts of an absent user', GET(`${noUser}/posts`), 404, NO_PARENT],
    ['such a list as a page for people', GET('/users/nobody/posts', accept('text/html')), 404, NO_PARENT],
    ['Create post for an absent user', POST(`${noUser}/posts`, {}, {}), 404, NO_PARENT],
    ['At /posts userId is required', POST('/posts', {}, { title: 'x' }), 400, required('userId')],
    ['An unknown user', POST('/posts', {}, { userId: ABSENT }), 422, code('USER_NOT_FOUND')],
    ['A user id of the wrong form', POST('/posts', {}, { userId: 7 }), 422, code('USER_NOT_FOUND')],

    // Single record with content negotiation
    [
      'Accept: application/json',
      GET(i, accept('application/json')),
      200,
      {
        headers: { 'content-type': 'application/json', vary, etag: '"1"' },
        json: { name: 'Lamp', colour: 'red' },
      },
    ],
    [
      'Accept: text/html',
      GET(i, accept('text/html')),
      200,
      {
        headers: {
          'content-type': 'text/html; charset=utf-8',
          etag: '"1-html"',
          'content-security-policy': /default-src 'none'/,
        },
        text: /<h1>Lamp<\/h1>/,
      },
    ],
    [
      'Accept: text/csv',
      GET(i, accept('text/csv')),
      200,
      {
        headers: { 'content-type': /^text\/csv/, etag: '"1-csv"' },
        text: /^id,name,price,colour,created_at,updated_at,_version\r\n.*,Lamp,9.5,red,.*\r\n$/,
      },
    ],
    [
      'Accept: anything else is 406 in plain text',
      GET(i, accept('image/png')),
      406,
      {
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        text: /application\/json, text\/html, text\/csv/,
      },
    ],
    [
      'q values and specificity',
      GET(i, accept('application/json;q=0.1, text/*;q=0.5, text/html;q=0')),
      200,
      { headers: { 'content-type': /^text\/csv/ } },
    ],
    [
      'An absent item: no body',
      GET(noItem),
      404,
      { headers: { 'content-length': '0', 'content-type': null }, text: '' },
    ],
    ['An absent post: no body', GET(`/posts/${ABSENT}`), 404, { text: '' }],
    ['An absent user as HTML: no body', GET(noUser, accept('text/html')), 404, { text: '' }],
    [
      'problem+json for a client that names it',
      GET(noItem, accept('application/json, application/problem+json')),
      404,
      {
        headers: { 'content-type': 'application/problem+json' },
        json: { type: '/errors/NOT_FOUND', title: 'Not Found', status: 404, code: 'NOT_FOUND' },
      },
    ],
    ['Replace an absent item', PUT(noItem, {}, { name: 'x' }), 404, { text: '{"error":"No such item."}' }],
    ['Change an absent item', PATCH(noItem, {}, { a: 1 }), 404, { text: '{"error":"No such item."}' }],
    [
      'Browsers get HTML for lists too',
      GET('/users', accept('text/html,application/xhtml+xml,*/*;q=0.8')),
      200,
      { headers: { 'content-type': 'text/html; charset=utf-8' }, text: /<table class="list">/ },
    ],

    // Generic method rules
    ['OPTIONS', OPTIONS('/users'), 204, { headers: { allow: OF_LISTS, 'accept-post': CREATING }, text: '' }],
    ['OPTIONS (record)', OPTIONS(u), 204, { headers: { allow: OF_RECORDS, 'accept-patch': CHANGING } }],
    [
      '405 with Allow',
      DELETE('/users'),
      405,
      { headers: { allow: OF_LISTS }, ...code('METHOD_NOT_ALLOWED') },
    ],
    ['405 with Allow (record)', POST(u, {}, {}), 405, { headers: { allow: OF_RECORDS } }],
    ['TRACE is 405', by('TRACE')('/items'), 405, { headers: { allow: OF_LISTS } }],
    ['A method that the server lacks', by('PROPFIND')('/items'), 501, code('NOT_IMPLEMENTED')],
    ['An unknown path', GET('/nothing'), 404, code('NOT_FOUND')],
    [
      '415 names what POST takes',
      POST('/users', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b'),
      415,
      { headers: { 'accept-post': CREATING }, ...code('UNSUPPORTED_MEDIA_TYPE') },
    ],
    [
      '415 names what PATCH takes',
      PATCH(u, { 'content-type': 'text/plain' }, '{}'),
      415,
      { headers: { 'accept-patch': CHANGING } },
    ],
    ['JSON Patch is not for PUT', PUT(u, JSON_PATCH, '[]'), 415],

    // Versioning
    [
      'API-Version that is unknown, or contradicts the path',
      GET('/items', { 'api-version': '9' }),
      400,
      code(base === '' ? 'UNSUPPORTED_VERSION' : 'VERSION_MISMATCH'),
    ],
    ['API-Version: 1', GET('/items', { 'api-version': '1' }), 200, { headers: { 'api-version': '1', vary } }],

    // Delete
    ['Delete: no body', DELETE(i), 204, { text: '' }],
    ['Delete of what is gone', DELETE(i), 204],
    ['A deleted record', GET(i), 404],
    ['Deleting a user', DELETE(u), 204],
    ['deletes its posts', GET(`/posts/${post.id}`), 404],
  ];

  for (const [says, [method, path, options], status, { headers = {}, json, text } = {}] of rows) {
    const response = await service.send(method, base + path, options);
    t.equal(response.status, status, `${says}: ${response.text}`);
    for (const [name, value] of Object.entries(headers)) matches(t, response, name, value, says);
    if (json !== undefined) t.match(response.json, json, says);
    if (text !== undefined)
      t[typeof text === 'string' ? 'equal' : 'match'](withoutRequestId(response.text), text as string, says);
  }
}

function matches(
  t: Test,
  { headers }: ServiceResponse,
  name: string,
  value: string | RegExp | null,
  says: string,
) {
  if (value === null || typeof value === 'string')
    t.equal(headers[name], value ?? undefined, `${says}: ${name}`);
  else t.match(String(headers[name]), value, `${says}: ${name}`);
}

t.test('a password is stored, and never shown', async (t) => {
  const { send } = await testService(t);
  const body = { email: '  MiXed@Example.ORG\n', name: 'F', age: '42', password: 'correct horse' };
  const created = await send('POST', '/users', { body });
  t.match(created, { status: 201, json: { email: 'mixed@example.org', age: 42 } });
  for (const { text } of [created, await send('GET', '/users')]) t.notMatch(text, /password|horse/);
});

t.test('extra fields come back as they were sent', async (t) => {
  const { send } = await testService(t);
  const extra = {
    deep: JSON.parse('[['.repeat(14) + ']]'.repeat(14)),
    '': 1,
    'a/b~c': 2,
    constructor: { x: 1 },
    n: 1e-7,
    s: 'é\u2028😀"\\',
    no: false,
  };
  const { json, status } = await send('POST', '/items', {
    body: { name: 'x', ...extra, _links: 1, updated_at: 2 },
  });
  t.equal(status, 201);
  const { id, name, created_at, updated_at, _version, _links, ...rest } = (
    await send('GET', `/items/${json.id}`)
  ).json;
  t.equal(JSON.stringify(rest), JSON.stringify(extra));
  t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.equal(updated_at, created_at);
  t.match(_links, { self: { href: `/items/${id}` } });
  t.same([name, _version], ['x', 1]);
});
