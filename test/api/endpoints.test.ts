import {
  type SendOptions,
  type ServiceResponse,
  type TestService,
  testService,
  withoutRequestId,
} from '../support/service.js';
import t, { type Test } from '../support/test.js';

/** The media types of bodies that create records. */
const CREATED = 'application/json, application/x-ndjson, text/csv';

const ABSENT = '01890000-0000-7000-8000-000000000000';

/** One line of the specification: a request, and what must come back. */
interface Row {
  readonly says: string;
  readonly send: readonly [method: string, path: string, options?: SendOptions];
  readonly status: number;
  /** Header fields that must be there as they are; null: must not be there. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  /** Members that the JSON body must hold. */
  readonly json?: unknown;
  readonly text?: string | RegExp;
}

const row = (
  says: string,
  send: Row['send'],
  status: number,
  more: Pick<Row, 'headers' | 'json' | 'text'> = {},
): Row => ({ says, send, status, ...more });

t.test('the specification, line by line, at both addresses', async (t) => {
  const service = await testService(t);
  for (const base of ['', '/api/v1']) {
    await t.test(base === '' ? 'at the root' : base, (t) => lines(t, service, base));
  }
});

async function lines(t: Test, service: TestService, base: string): Promise<void> {
  const make = async (path: string, body: object) => (await service.send('POST', base + path, { body })).json;
  const user = await make('/users', {
    email: `u${base.length}@example.org`,
    name: 'Una',
    age: 30,
    extra: { a: [1, null] },
  });
  const item = await make('/items', { name: 'Lamp', price: 9.5, colour: 'red' });
  const post = await make('/posts', { userId: user.id, title: 'Hello' });
  const u = `/users/${user.id}`;
  const vary = base === '' ? 'Accept, API-Version, Accept-Encoding' : 'Accept, Accept-Encoding';
  const mail = (name: string) => `${name}${base.length}@example.org`;

  const rows: Row[] = [
    // Record operations
    row('List all: 200, JSON array', ['GET', '/users'], 200, {
      headers: { 'content-type': 'application/json' },
    }),
    row('Get one: 200, the user record', ['GET', u], 200, {
      headers: { etag: '"1"', vary, 'api-version': '1' },
      json: { id: user.id, email: user.email, name: 'Una', age: 30, extra: { a: [1, null] }, _version: 1 },
    }),
    row('Get one, absent: 404 {error: string}', ['GET', `/users/${ABSENT}`], 404, {
      headers: { 'content-type': 'application/json' },
      text: '{"error":"No such user."}',
    }),
    row(
      'Create: 201, Location, the created record',
      ['POST', '/users', { body: { email: mail('new'), name: 'New' } }],
      201,
      { headers: { location: /^\/users\/[0-9a-f-]{36}$/, etag: '"1"' }, json: { name: 'New', _version: 1 } },
    ),
    row('Create: 400 on validation failure', ['POST', '/users', { body: {} }], 400, {
      json: {
        errors: [
          { path: '/email', keyword: 'required' },
          { path: '/name', keyword: 'required' },
        ],
        error: { code: 'VALIDATION_ERROR' },
      },
    }),
    row(
      'Create: a duplicate email is 409 EMAIL_TAKEN',
      ['POST', '/users', { body: { email: ` ${user.email.toUpperCase()} `, name: 'Dup' } }],
      409,
      { json: { error: { code: 'EMAIL_TAKEN', details: { field: 'email' } } } },
    ),
    row(
      'Replace: 404 {error: string} when absent',
      ['PUT', `/users/${ABSENT}`, { body: { email: mail('x'), name: 'X' } }],
      404,
      { text: '{"error":"No such user."}' },
    ),
    row(
      'Partial update: 404 {error: string} when absent',
      ['PATCH', `/users/${ABSENT}`, { body: { name: 'X' } }],
      404,
      { text: '{"error":"No such user."}' },
    ),
    row('Partial update: untouched fields keep their values', ['PATCH', u, { body: { age: 31 } }], 200, {
      headers: { etag: '"2"' },
      json: { name: 'Una', age: 31, extra: { a: [1, null] }, _version: 2 },
    }),
    row(
      'merge-patch: a key set to null deletes it, recursively',
      [
        'PATCH',
        u,
        { type: 'application/merge-patch+json', body: { extra: { a: null, b: { c: null, d: 1 } } } },
      ],
      200,
      { json: { extra: { b: { d: 1 } }, _version: 3 } },
    ),
    row(
      'json-patch: an array of operations',
      [
        'PATCH',
        u,
        {
          type: 'application/json-patch+json',
          body: [
            { op: 'test', path: '/_version', value: 3 },
            { op: 'add', path: '/tags', value: ['a'] },
            { op: 'add', path: '/tags/-', value: 'b' },
            { op: 'move', from: '/extra/b', path: '/extra2' },
            { op: 'copy', from: '/tags/0', path: '/first' },
            { op: 'replace', path: '/age', value: 32 },
            { op: 'remove', path: '/extra' },
          ],
        },
      ],
      200,
      { json: { tags: ['a', 'b'], extra2: { d: 1 }, first: 'a', age: 32, _version: 4 } },
    ),
    row(
      'json-patch: a test that fails is 409 and changes nothing',
      [
        'PATCH',
        u,
        {
          type: 'application/json-patch+json',
          body: [
            { op: 'replace', path: '/age', value: 1 },
            { op: 'test', path: '/name', value: 'Nobody' },
          ],
        },
      ],
      409,
      { json: { error: { code: 'PATCH_TEST_FAILED', details: { operation: 1 } } } },
    ),
    row(
      'json-patch: one that cannot be applied is 422',
      ['PATCH', u, { type: 'application/json-patch+json', body: [{ op: 'remove', path: '/nothing' }] }],
      422,
      { json: { error: { code: 'UNPROCESSABLE_PATCH' } } },
    ),
    row(
      'json-patch: a malformed one is 400',
      ['PATCH', u, { type: 'application/json-patch+json', body: [{ op: 'drop', path: '/age' }] }],
      400,
      { json: { errors: [{ path: '/0' }], error: { code: 'VALIDATION_ERROR' } } },
    ),
    row(
      'plain JSON: an object replaces, null is stored for an extra field',
      ['PATCH', u, { body: { extra2: { z: 1 }, nil: null } }],
      200,
      { json: { extra2: { z: 1 }, nil: null, age: 32, _version: 5 } },
    ),
    row('plain JSON: null clears a declared optional field', ['PATCH', u, { body: { age: null } }], 200, {
      json: { _version: 6 },
    }),
    row(
      'The result of a patch obeys the field rules',
      ['PATCH', u, { type: 'application/merge-patch+json', body: { name: null } }],
      400,
      { json: { errors: [{ path: '/name', keyword: 'required' }] } },
    ),
    row(
      '_version that is not the current one is 409',
      ['PUT', u, { body: { email: user.email, name: 'Old', _version: 1 } }],
      409,
      { json: { error: { code: 'VERSION_CONFLICT', details: { current: { _version: 6 } } } } },
    ),
    row(
      'Replace: omitted fields are cleared',
      ['PUT', u, { body: { email: user.email, name: 'Ulla', _version: 6, id: 'x', created_at: 'y' } }],
      200,
      {
        headers: { etag: '"7"' },
        text: new RegExp(
          `^\\{"id":"${user.id}","email":"[^"]+","name":"Ulla","created_at":"${user.created_at}","updated_at":"[^"]+","_version":7,"_links":`,
        ),
      },
    ),
    row(
      'Prefer: return=minimal makes the response to PUT 204',
      ['PUT', u, { body: { email: user.email, name: 'Ulla' }, headers: { prefer: 'return=minimal' } }],
      204,
      { headers: { 'preference-applied': 'return=minimal', etag: '"8"' }, text: '' },
    ),
    row(
      'Prefer: return=minimal makes the response to PATCH 204',
      ['PATCH', u, { body: { age: 3 }, headers: { prefer: 'return=minimal' } }],
      204,
      { headers: { 'preference-applied': 'return=minimal', etag: '"9"' }, text: '' },
    ),
    row(
      'Prefer: return=minimal makes the response to POST 201 without a body',
      ['POST', '/items', { body: { name: 'M' }, headers: { prefer: 'return=minimal' } }],
      201,
      {
        headers: { 'preference-applied': 'return=minimal', location: /^\/items\//, 'content-length': '0' },
        text: '',
      },
    ),
    row('_links of a user', ['GET', u], 200, {
      json: {
        _links: {
          self: { href: u, method: 'GET' },
          update: { href: u, method: 'PATCH' },
          delete: { href: u, method: 'DELETE' },
          posts: { href: `${u}/posts`, method: 'GET' },
        },
      },
    }),

    // Nested collection
    row('List posts of a user: 200, JSON array', ['GET', `${u}/posts`], 200, {
      text: new RegExp(`^\\[\\{"id":"${post.id}",.*\\}\\]$`),
    }),
    row(
      'Create post for a user: 201, no Location, userId from the path',
      ['POST', `${u}/posts`, { body: { userId: ABSENT, title: 'Nested' } }],
      201,
      { headers: { location: null, etag: '"1"' }, json: { userId: user.id, title: 'Nested' } },
    ),
    row('Posts of an absent user: 404', ['GET', `/users/${ABSENT}/posts`], 404, {
      text: '{"error":{"code":"USER_NOT_FOUND","message":"No such user."}}',
    }),
    row(
      'Posts of a user whose id is not a UUID, as a page for people: 404',
      ['GET', '/users/nobody/posts', { headers: { accept: 'text/html' } }],
      404,
      { text: '{"error":{"code":"USER_NOT_FOUND","message":"No such user."}}' },
    ),
    row('Create post for an absent user: 404', ['POST', `/users/${ABSENT}/posts`, { body: {} }], 404, {
      text: '{"error":{"code":"USER_NOT_FOUND","message":"No such user."}}',
    }),
    row('At /posts userId is required', ['POST', '/posts', { body: { title: 'x' } }], 400, {
      json: { errors: [{ path: '/userId', keyword: 'required' }] },
    }),
    row('At /posts an unknown user is 422', ['POST', '/posts', { body: { userId: ABSENT } }], 422, {
      json: { error: { code: 'USER_NOT_FOUND' } },
    }),
    row(
      'At /posts a user id of the wrong form is an unknown user',
      ['POST', '/posts', { body: { userId: 7 } }],
      422,
      { json: { error: { code: 'USER_NOT_FOUND' } } },
    ),

    // Single record with content negotiation
    row(
      'Accept: application/json',
      ['GET', `/items/${item.id}`, { headers: { accept: 'application/json' } }],
      200,
      {
        headers: { 'content-type': 'application/json', vary, etag: '"1"' },
        json: { name: 'Lamp', colour: 'red' },
      },
    ),
    row('Accept: text/html', ['GET', `/items/${item.id}`, { headers: { accept: 'text/html' } }], 200, {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        etag: '"1-html"',
        'content-security-policy': /default-src 'none'/,
      },
      text: /<h1>Lamp<\/h1>/,
    }),
    row('Accept: text/csv', ['GET', `/items/${item.id}`, { headers: { accept: 'text/csv' } }], 200, {
      headers: { 'content-type': /^text\/csv/, etag: '"1-csv"' },
      text: /^id,name,price,colour,created_at,updated_at,_version\r\n.*,Lamp,9.5,red,.*\r\n$/,
    }),
    row(
      'Accept: anything else is 406 in plain text',
      ['GET', `/items/${item.id}`, { headers: { accept: 'image/png' } }],
      406,
      {
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        text: /application\/json, text\/html, text\/csv/,
      },
    ),
    row(
      'q values and specificity',
      [
        'GET',
        `/items/${item.id}`,
        { headers: { accept: 'application/json;q=0.1, text/*;q=0.5, text/html;q=0' } },
      ],
      200,
      { headers: { 'content-type': /^text\/csv/ } },
    ),
    row('An absent item: 404 with no body', ['GET', `/items/${ABSENT}`], 404, {
      headers: { 'content-length': '0', 'content-type': null },
      text: '',
    }),
    row('An absent post: 404 with no body', ['GET', `/posts/${ABSENT}`], 404, { text: '' }),
    row(
      'An absent user as HTML: 404 with no body',
      ['GET', `/users/${ABSENT}`, { headers: { accept: 'text/html' } }],
      404,
      { text: '' },
    ),
    row(
      'problem+json for a client that names it',
      ['GET', `/items/${ABSENT}`, { headers: { accept: 'application/json, application/problem+json' } }],
      404,
      {
        headers: { 'content-type': 'application/problem+json' },
        json: { type: '/errors/NOT_FOUND', title: 'Not Found', status: 404, code: 'NOT_FOUND' },
      },
    ),
    row(
      'Browsers get HTML for lists too',
      ['GET', '/users', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }],
      200,
      { headers: { 'content-type': 'text/html; charset=utf-8' }, text: /<table class="list">/ },
    ),

    // Generic method rules
    row('OPTIONS: 204 with Allow (collection)', ['OPTIONS', '/users'], 204, {
      headers: { allow: 'GET, HEAD, QUERY, POST, OPTIONS', 'accept-post': CREATED },
      text: '',
    }),
    row('OPTIONS: 204 with Allow (record)', ['OPTIONS', u], 204, {
      headers: {
        allow: 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
        'accept-patch': 'application/merge-patch+json, application/json-patch+json, application/json',
      },
    }),
    row('405 with Allow (collection)', ['DELETE', '/users'], 405, {
      headers: { allow: 'GET, HEAD, QUERY, POST, OPTIONS' },
      json: { error: { code: 'METHOD_NOT_ALLOWED' } },
    }),
    row('405 with Allow (record)', ['POST', u, { body: {} }], 405, {
      headers: { allow: 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS' },
    }),
    row('TRACE is 405', ['TRACE', '/items'], 405, { headers: { allow: 'GET, HEAD, QUERY, POST, OPTIONS' } }),
    row('A method the server does not implement: 501', ['PROPFIND', '/items'], 501, {
      json: { error: { code: 'NOT_IMPLEMENTED' } },
    }),
    row('An unknown path: 404', ['GET', '/nothing'], 404, { json: { error: { code: 'NOT_FOUND' } } }),
    row(
      '415 names what POST takes',
      ['POST', '/users', { body: 'a=b', type: 'application/x-www-form-urlencoded' }],
      415,
      { headers: { 'accept-post': CREATED }, json: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } } },
    ),
    row('415 names what PATCH takes', ['PATCH', u, { body: '{}', type: 'text/plain' }], 415, {
      headers: {
        'accept-patch': 'application/merge-patch+json, application/json-patch+json, application/json',
      },
    }),
    row('JSON Patch is not for PUT', ['PUT', u, { body: '[]', type: 'application/json-patch+json' }], 415),

    // Versioning
    row(
      'API-Version that is unknown, or contradicts the path: 400',
      ['GET', '/items', { headers: { 'api-version': '9' } }],
      400,
      { json: { error: { code: base === '' ? 'UNSUPPORTED_VERSION' : 'VERSION_MISMATCH' } } },
    ),
    row('API-Version: 1', ['GET', '/items', { headers: { 'api-version': '1' } }], 200, {
      headers: { 'api-version': '1', vary },
    }),

    // Delete
    row('Delete: 204, no body', ['DELETE', `/items/${item.id}`], 204, { text: '' }),
    row('Delete of what is gone: 204', ['DELETE', `/items/${item.id}`], 204),
    row('A deleted record is 404', ['GET', `/items/${item.id}`], 404),
    row('Deleting a user', ['DELETE', u], 204),
    row('deletes its posts', ['GET', `/posts/${post.id}`], 404),
  ];

  for (const { says, send, status, headers = {}, json, text } of rows) {
    const [method, path, options] = send;
    const response = await service.send(method, base + path, options);
    await t.test(says, async (t) => {
      t.equal(response.status, status, response.text);
      for (const [name, value] of Object.entries(headers)) matches(t, response, name, value);
      if (json !== undefined) t.match(response.json, json);
      if (text !== undefined)
        t[typeof text === 'string' ? 'equal' : 'match'](withoutRequestId(response.text), text as string);
    });
  }
}

function matches(t: Test, response: ServiceResponse, name: string, value: string | RegExp | null): void {
  const field = response.headers[name];
  if (value === null) t.equal(field, undefined, name);
  else if (typeof value === 'string') t.equal(field, value, name);
  else t.match(String(field), value, name);
}

t.test('fields of a user', async (t) => {
  const { send } = await testService(t);
  let n = 0;
  const post = (fields: object) =>
    send('POST', '/users', { body: { email: `f${n++}@example.org`, name: 'F', ...fields } });
  const refused = async (fields: object, path: string, keyword: string) => {
    const { status, json, text } = await post(fields);
    t.equal(status, 400, JSON.stringify(fields));
    t.match(json.errors, [{ path, keyword }]);
    t.same(json.errors, json.error.details);
    for (const value of Object.values(fields))
      if (String(value).length > 3) t.notMatch(text, String(value), 'never the rejected value');
  };
  const isStored = async (fields: object, want: object) => t.match((await post(fields)).json, want);

  for (const email of ['nobody', 'a@', '@b.org', 'a b@c.org', 'a@b@c.org', 'a..b@c.org'])
    await refused({ email }, '/email', 'format');
  await refused({ email: 7 }, '/email', 'type');
  await refused(
    { email: `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}` },
    '/email',
    'maxLength',
  );
  await isStored({ email: '  MiXed@Example.ORG\n' }, { email: 'mixed@example.org' });
  await refused({ name: '' }, '/name', 'minLength');
  await refused({ name: ' \t ' }, '/name', 'minLength');
  await refused({ name: 'x'.repeat(101) }, '/name', 'maxLength');
  await isStored({ name: '😀'.repeat(100) }, { name: '😀'.repeat(100) });
  await refused({ name: '😀'.repeat(101) }, '/name', 'maxLength');
  for (const age of [1.5, true, {}, [], '', '1.5', 'x', ' 4', '1e1']) await refused({ age }, '/age', 'type');
  for (const age of [-1, 151, '151', '-1'])
    await refused({ age }, '/age', Number(age) < 0 ? 'minimum' : 'maximum');
  await isStored({ age: '42' }, { age: 42 });
  await isStored({ age: 0 }, { age: 0 });
  t.notOk('age' in (await post({ age: null })).json, 'null: no age');
  await refused({ password: 'short' }, '/password', 'minLength');
  const secret = await post({ password: 'correct horse' });
  t.equal(secret.status, 201);
  t.notMatch(secret.text, /password|horse/);
  t.notMatch((await send('GET', '/users')).text, /password|horse/);
});

t.test('fields of an item', async (t) => {
  const { send } = await testService(t);
  const post = (body: object) => send('POST', '/items', { body });
  t.match((await post({ price: 1 })).json.errors, [{ path: '/name', keyword: 'required' }]);
  t.match((await post({ name: 'x'.repeat(201) })).json.errors, [{ path: '/name', keyword: 'maxLength' }]);
  t.match((await post({ name: 'x', price: '1' })).json.errors, [{ path: '/price', keyword: 'type' }]);
  t.match((await post({ name: ' x ', price: -0.5 })).json, { name: 'x', price: -0.5 });
  t.notOk('price' in (await post({ name: 'x', price: null })).json);
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
