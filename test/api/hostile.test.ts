import { onlyBuiltIn } from '../support/names.js';
import { type SendOptions, type ServiceResponse, type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';

const ABSENT = '01890000-0000-7000-8000-000000000000';
const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const COLLECTIONS = ['users', 'items', 'posts'];

let numberOfUsers = 0;

function newUser(): { email: string; name: string } {
  numberOfUsers++;
  return { email: `h${numberOfUsers}@example.org`, name: `User ${numberOfUsers}` };
}

/** All that is stored, as clients see it. */
async function everything({ send }: TestService): Promise<unknown[]> {
  const lists = await Promise.all(COLLECTIONS.map((name) => send('GET', `/${name}?page=1&limit=100`)));
  return lists.map(({ json }) => json.data);
}

/** A body that is refused as one validation failure, in both of its forms. */
function isInvalid(t: Test, response: ServiceResponse, says: string): void {
  t.equal(response.status, 400, `${says}: 400`);
  t.match(response.json, { error: { code: 'VALIDATION_ERROR', message: /\w/ } }, `${says}: code`);
  t.ok(response.json?.errors?.length > 0, `${says}: failures`);
  t.same(response.json?.error?.details, response.json?.errors, `${says}: the same list twice`);
}

/** Runs `attack`, and shows that it changed nothing and that the service responds as before. */
async function unharmed(
  t: Test,
  service: TestService,
  attack: (user: { id: string }) => Promise<void>,
): Promise<void> {
  const { json: user } = await service.send('POST', '/users', { body: newUser() });
  const before = await everything(service);
  await attack(user);
  t.same(await everything(service), before, 'what is stored is what it was');
  const after = await service.send('POST', '/users', { body: newUser() });
  t.equal(after.status, 201, 'the service responds as before');
  t.equal((await service.send('DELETE', `/users/${after.json.id}`)).status, 204);
}

/** The ways to send a document to a record or a collection. */
function writes(id: string): [string, string, string][] {
  return [
    ['POST', '/users', 'application/json'],
    ['POST', '/items', 'application/json'],
    ['POST', '/posts', 'application/json'],
    ['POST', `/users/${id}/posts`, 'application/json'],
    ['PUT', `/users/${id}`, 'application/json'],
    ['PATCH', `/users/${id}`, 'application/json'],
    ['PATCH', `/users/${id}`, MERGE_PATCH],
    ['PATCH', `/users/${id}`, JSON_PATCH],
  ];
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

t.test('a body that is no usable JSON document', async (t) => {
  const service = await testService(t);
  // test/http/strict-json.test.ts has more of each kind.
  const bodies: [string, string | Buffer][] = [
    ['broken', '{"name":'],
    ['a raw control character', '{"name":"a\nb"}'],
    ['empty', ''],
    ['white space', ' \n '],
    ['100,000 nested arrays in a field', `{"name":"a","email":"a@example.org","x":${nested(100_000)}}`],
    ['null', 'null'],
    ['a string', '"{}"'],
    ['not UTF-8', Buffer.from('{"name":"\xff"}', 'latin1')],
    ['an integer that no double holds', '{"name":"a","email":"a@example.org","x":9007199254740993}'],
  ];
  await unharmed(t, service, async ({ id }) => {
    for (const [says, body] of bodies)
      for (const [method, path, type] of writes(id))
        isInvalid(t, await service.send(method, path, { body, type }), `${method} ${type} ${says}`);
    for (const [method, path, type] of writes(id)) {
      const body = type === JSON_PATCH ? {} : [];
      isInvalid(t, await service.send(method, path, { body, type }), `${method} ${type} the other shape`);
      isInvalid(t, await service.send(method, path), `${method} ${path} no body at all`);
    }
  });
});

t.test('a huge body', onlyBuiltIn('is about requests'), async (t) => {
  const service = await testService(t);
  await unharmed(t, service, async ({ id }) => {
    for (const [method, path, type] of writes(id)) {
      const body = JSON.stringify({ ...newUser(), x: 'a'.repeat(1_048_576) });
      const response = await service.send(method, path, { body, type });
      t.equal(response.status, 413, `${method} ${type}`);
      t.match(response.json, { error: { code: 'PAYLOAD_TOO_LARGE', details: { limit: 1_048_576 } } });
    }
    const wide = await service.send('PATCH', `/users/${id}`, {
      body: [
        { op: 'add', path: '/x', value: 'a'.repeat(400_000) },
        { op: 'copy', from: '/x', path: '/y' },
        { op: 'copy', from: '/x', path: '/z' },
      ],
      type: JSON_PATCH,
    });
    t.equal(wide.status, 413, 'a record that a patch makes huge');
    const paths = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/name', value: 'a' }));
    isInvalid(
      t,
      await service.send('PATCH', `/users/${id}`, { body: paths, type: JSON_PATCH }),
      'a patch without end',
    );
  });
  const exact = { ...newUser(), x: '' };
  exact.x = 'a'.repeat(1_048_576 - JSON.stringify(exact).length);
  t.equal(
    (await service.send('POST', '/users', { body: exact })).status,
    201,
    'the limit itself is accepted',
  );
});

t.test('U+0000, anywhere', async (t) => {
  const service = await testService(t);
  const { send } = service;
  const text = '\\u0000';
  await unharmed(t, service, async ({ id }) => {
    const { email } = newUser();
    for (const fields of [
      `"name":"a${text}"`,
      `"email":"a${text}@example.org"`,
      `"x":{"y":[1,{"z":"${text}"}]}`,
      `"${text}":1`,
      `"x":{"${text}":{}}`,
      `"password":"12345678${text}"`,
      `"id":"${text}"`,
    ])
      for (const [method, path, type] of writes(id).filter(([, , type]) => type !== JSON_PATCH)) {
        const body = `{"email":"${email}","name":"a",${fields}}`;
        isInvalid(t, await send(method, path, { body, type }), `${method} ${type} ${body}`);
      }
    for (const operation of [
      `"op":"add","path":"/x","value":"${text}"`,
      `"op":"add","path":"/${text}","value":1`,
      `"op":"test","path":"/name","value":"${text}"`,
      `"op":"copy","from":"/name","path":"/${text}"`,
      `"op":"move","from":"/${text}","path":"/x"`,
      `"op":"${text}","path":"/x"`,
      `"op":"add","path":"/x","value":1,"${text}":1`,
    ])
      isInvalid(
        t,
        await send('PATCH', `/users/${id}`, { body: `[{${operation}}]`, type: JSON_PATCH }),
        operation,
      );
    for (const query of words('search=%00 search=a%00b search=%ED%A0%80 sort=%00 order=%00 page=%00'))
      for (const path of ['/items', '/users', '/posts', `/users/${id}/posts`])
        for (const more of ['', '&page=1'])
          t.ok((await send('GET', `${path}?${query}${more}`)).status <= 400, `${path}?${query}${more}`);
    for (const path of ['/users/%00', `/users/${id}%00`, '/users/%00/posts', '/items/a%00b'])
      t.equal((await send('GET', path)).status, 404, path);
    t.equal((await send('DELETE', `/users/${id}%00`)).status, 204);
    t.equal((await send('GET', '/%00')).status, 404);
  });
});

t.test('__proto__ and constructor are ordinary keys and pollute nothing', async (t) => {
  const { send } = await testService(t);
  const fields = `"__proto__":{"admin":true,"name":"x"},"constructor":{"prototype":{"admin":true}},"prototype":1,
    "toString":"a","hasOwnProperty":null,"valueOf":[1],"x":{"__proto__":[{"__proto__":null}],"constructor":2}`;
  const head = () => {
    const { email, name } = newUser();
    return `"email":"${email}","name":"${name}"`;
  };
  const wanted = (text: string) => {
    const parsed = JSON.parse(`{${text}}`);
    // A null deletes in a merge patch.
    return Object.entries(parsed).filter(([, value]) => value !== null);
  };
  const holds = (t: Test, { status, text }: ServiceResponse, says: string) => {
    t.ok(status === 200 || status === 201, `${says}: ${status}`);
    const record = JSON.parse(text);
    for (const [key, value] of wanted(fields)) {
      t.ok(Object.hasOwn(record, key), `${says}: ${key}`);
      const own = Object.getOwnPropertyDescriptor(record, key)?.value;
      t.equal(JSON.stringify(own), JSON.stringify(value), `${says}: ${key} as it was sent`);
    }
  };
  const clean = (t: Test, says: string) => {
    const fresh = {} as Record<string, unknown>;
    t.notOk('admin' in fresh || 'name' in fresh, `${says}: nothing is polluted`);
    t.equal(typeof fresh.toString, 'function');
  };

  const created = await send('POST', '/users', { body: `{${head()},${fields}}` });
  holds(t, created, 'POST');
  const path = `/users/${created.json.id}`;
  holds(t, await send('GET', path), 'GET');
  const fresh = async () => `/users/${(await send('POST', '/users', { body: newUser() })).json.id}`;
  holds(t, await send('PUT', await fresh(), { body: `{${head()},${fields}}` }), 'PUT');
  holds(t, await send('PATCH', await fresh(), { body: `{${fields}}` }), 'PATCH');
  holds(t, await send('PATCH', await fresh(), { body: `{${fields}}`, type: MERGE_PATCH }), 'merge patch');
  const adds = Object.entries(JSON.parse(`{${fields}}`)).map(
    ([key, value]) => `{"op":"add","path":"/${key}","value":${JSON.stringify(value)}}`,
  );
  const patched = await fresh();
  const { status } = await send('PATCH', patched, { body: `[${adds.join()}]`, type: JSON_PATCH });
  t.equal(status, 422, 'a JSON Patch pointer through __proto__');
  const others = adds.filter((operation) => !operation.includes('"/__proto__"'));
  const response = await send('PATCH', patched, { body: `[${others.join()}]`, type: JSON_PATCH });
  t.same(response.json.constructor, { prototype: { admin: true } }, 'JSON Patch');
  t.same((await send('GET', patched)).json.valueOf, [1], 'JSON Patch, read back');
  clean(t, 'after writes');

  for (const pointer of words(
    '/__proto__/polluted /constructor/prototype/admin /toString/admin /x/valueOf/a',
  ))
    for (const op of ['add', 'replace', 'remove', 'test']) {
      const body = [{ op, path: pointer, value: true }];
      const { status } = await send('PATCH', await fresh(), { body, type: JSON_PATCH });
      t.equal(status, 422, `${op} ${pointer} leads nowhere in a record without it`);
    }
  const removal = await send('PATCH', path, {
    body: '{"__proto__":null,"constructor":{"prototype":null}}',
    type: MERGE_PATCH,
  });
  t.equal(removal.status, 200);
  t.notOk(Object.hasOwn(JSON.parse(removal.text), '__proto__'), 'null deletes the key');
  t.same(JSON.parse(removal.text).constructor, {});
  for (const body of ['{"__proto__":{"email":"a@example.org","name":"a"}}', '{"constructor":{"name":"a"}}'])
    isInvalid(t, await send('POST', '/users', { body }), `${body} stands for no required field`);
  clean(t, 'in the end');
  for (const query of words('__proto__=1 sort=__proto__ sort=constructor order=toString page=__proto__'))
    t.equal((await send('GET', `/items?${query}`)).status, 200, query);
  for (const [method, path, options, status] of [
    ['GET', '/constructor', {}, 404],
    ['GET', '/users/toString', {}, 404],
    ['GET', '/users', { headers: { 'api-version': '__proto__' } }, 400],
    ['POST', '/users', { body: '{}', type: '__proto__' }, 415],
  ] as const)
    t.equal((await send(method, path, options)).status, status, path);
});

t.test('ids of a wrong form are absent records', async (t) => {
  const service = await testService(t);
  const ids = [
    ...words(`
      1 -1 0 null undefined NaN 1e308 ${ABSENT} ${ABSENT}0 ${ABSENT.slice(1)} ${ABSENT.replaceAll('-', '')}
      %7B${ABSENT}%7D urn:uuid:${ABSENT} ${ABSENT}%20 ${ABSENT}%0A %20 ..%2F..%2Fetc%2Fpasswd %2e%2e *
      1;drop%20table%20users '%20or%201=1-- %F0%9F%92%A9 %EF%BC%91 g1890000-0000-7000-8000-000000000000
      00000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff
    `),
    'b'.repeat(200),
    'a'.repeat(5000),
  ];
  await unharmed(t, service, async () => {
    for (const name of COLLECTIONS)
      for (const id of name === 'users' ? ids : ids.slice(0, 10)) {
        const path = `/${name}/${id}`;
        const says = `${name} ${id.slice(0, 50)}`;
        const body = { ...newUser(), userId: ABSENT };
        const options: [string, number, SendOptions?][] = [
          ['GET', 404],
          ['HEAD', 404],
          ['PUT', 404, { body }],
          ['PATCH', 404, { body: { x: 1 } }],
          ['PATCH', 404, { body: { x: 1 }, type: MERGE_PATCH }],
          ['PATCH', 404, { body: [{ op: 'add', path: '/x', value: 1 }], type: JSON_PATCH }],
          ['DELETE', 204],
        ];
        for (const [method, status, more] of options)
          t.equal((await service.send(method, path, more)).status, status, `${method} ${says}`);
      }
    for (const id of ids) {
      t.equal((await service.send('GET', `/users/${id}/posts`)).status, 404, `GET posts of ${id}`);
      t.equal((await service.send('POST', `/users/${id}/posts`, { body: { a: 1 } })).status, 404);
    }
  });
});

t.test('query parameters of any kind have an effect that is defined', async (t) => {
  const service = await testService(t);
  const { send } = service;
  for (const name of ['100% wool', 'snake_case', 'back\\slash', 'Plain'])
    await send('POST', '/items', { body: { name } });
  const meta = async (query: string) => (await send('GET', `/items?${query}`)).json?.meta;
  const rows: [string, number, number][] = [
    ['page=1e308', 1, 20],
    [`page=${'9'.repeat(400)}`, Number.MAX_SAFE_INTEGER, 20],
    ['page=9007199254740993&limit=100', Number.MAX_SAFE_INTEGER, 100],
    ['page=-5', 1, 20],
    ['page=0', 1, 20],
    ['page=Infinity', 1, 20],
    ['page=0x10', 1, 20],
    ['page=2.9', 2, 20],
    ['page=2abc', 2, 20],
    ['page=%202x', 2, 20],
    ['page=abc', 1, 20],
    ['limit=-0', 1, 20],
    ['limit=1', 1, 1],
    ['page=%zz', 1, 20],
    ['page=2&_page[]=3', 2, 20],
    ['limit=-5', 1, 1],
    ['limit=0', 1, 20],
    ['limit=1e308', 1, 1],
    ['limit=101', 1, 100],
    [`limit=${'9'.repeat(400)}`, 1, 100],
    ['limit=abc', 1, 20],
    ['page=2&page=3&limit=2&limit=4', 2, 2],
    ['page=&limit=', 1, 20],
  ];
  for (const [query, page, limit] of rows) {
    const says = query.slice(0, 40);
    t.match(await meta(query), { page, limit, total: 4 }, says);
    for (const path of ['/users', '/posts'])
      t.equal((await send('GET', `${path}?${query}`)).status, 200, `${path} ${says}`);
  }
  const found = async (search: string) =>
    (await send('GET', `/items?sort=name&order=asc&search=${search}`)).json.map(
      ({ name }: { name: string }) => name,
    );
  t.same(await found('%5C'), ['back\\slash'], '\\ is literal');
  t.same(await found('%5C%25'), []);
  t.same(await found("'"), []);
  t.same(await found('%F0%9F%92%A9'.repeat(150)), []);
  t.same(await found('plain&search=snake'), ['Plain'], 'the first of a repeated one');
  for (const query of [
    'search=%',
    'search=%zz',
    'search=%ff',
    'search=%ED%A0%80',
    '&&&',
    '?',
    'sort=price;drop%20table%20items',
    'sort=price&sort=name',
    `order=asc'--`,
    '_='.repeat(2000),
    '&'.repeat(4000),
  ])
    t.equal((await send('GET', `/items?${query}`)).status, 200, query.slice(0, 40));
  for (const query of ['%', '%00=1', 'a='.repeat(2000)])
    t.match(await send('GET', `/items?${query}`), {
      status: 400,
      json: { error: { code: 'UNKNOWN_PARAMETER' } },
    });
});

t.test('an invalid percent-encoding in a path', async (t) => {
  const { send } = await testService(t);
  for (const path of words('/users/% /users/%zz /users/%f /users/%ff /users/%C3 /users/%ED%A0%80 /%'))
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'OPTIONS']) {
      const response = await send(method, path, method === 'PUT' ? { body: newUser() } : {});
      t.equal(response.status, 400, `${method} ${path}`);
      if (method !== 'HEAD') t.match(response.json, { error: { code: 'BAD_REQUEST' } });
    }
  for (const path of ['/users/', '//users', '/users//posts', '/users/../items', '/api/v1', '/api/v9/users'])
    t.equal((await send('GET', path)).status, 404, path);
});

t.test('a body of a wrong type or coding', onlyBuiltIn('is about requests'), async (t) => {
  const service = await testService(t);
  const { send } = service;
  await unharmed(t, service, async ({ id }) => {
    const types: (string | undefined)[] = [
      undefined,
      '',
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=a',
      'application/jsonp',
      'application',
      'application/json, text/plain',
      'application/json; charset=latin1',
      'application/json;charset="iso-8859-1"',
      'application/json; charset=utf-16',
      'application/merge-patch+json; charset=latin1',
      ';',
    ];
    for (const type of types) {
      const headers = type === undefined ? {} : { 'content-type': type };
      for (const [method, path, field] of [
        ['POST', '/users', 'accept-post'],
        ['PUT', `/users/${id}`, 'accept'],
        ['PATCH', `/users/${id}`, 'accept-patch'],
      ] as const) {
        const response = await send(method, path, { body: Buffer.from(JSON.stringify(newUser())), headers });
        t.equal(response.status, 415, `${method} ${type}`);
        t.match(response.json, { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
        t.match(response.headers[field], /application\/json/, `${method} ${type}: ${field}`);
      }
    }
    t.equal((await send('POST', '/users', { body: newUser(), type: MERGE_PATCH })).status, 415);
    t.equal((await send('PUT', `/users/${id}`, { body: newUser(), type: JSON_PATCH })).status, 415);
  });
  for (const type of [
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'APPLICATION/JSON',
    'application/json; profile=a',
    'application/json ;',
  ])
    t.equal((await send('POST', '/users', { body: newUser(), type })).status, 201, type);
  const plain = { 'content-encoding': 'identity' };
  t.equal((await send('POST', '/users', { body: newUser(), headers: plain })).status, 201, 'identity');
  const marked = Buffer.from(`\uFEFF${JSON.stringify(newUser())}`);
  t.equal(
    (await send('POST', '/users', { body: marked, type: 'application/json' })).status,
    201,
    'with a BOM',
  );
});

t.test('header fields of any kind', onlyBuiltIn('is about requests'), async (t) => {
  const service = await testService(t);
  await unharmed(t, service, async ({ id }) => {
    const rows: [string, string, number[]][] = [
      ['accept', 'x', [406]],
      ['accept', ',,,;;;q=', [406]],
      ['accept', '*/*;q=0', [406]],
      ['accept', `${'a/b,'.repeat(3000)}*/*`, [200, 406]],
      ['accept', `application/json${';a=b'.repeat(3000)}`, [200]],
      ['x-request-id', '"><script>', [200]],
      ['x-request-id', 'a'.repeat(5000), [200]],
      ['prefer', `${'return=minimal,'.repeat(900)}`, [200]],
      ['api-version', '', [200, 400]],
      ['api-version', '1, 2', [400]],
      ['api-version', '99999999999999999999', [400]],
      ['cookie', 'a'.repeat(8000), [200]],
      ['range', 'bytes=0-1,0-2,0-3', [200]],
      ['x-http-method-override', 'DELETE', [200]],
      ['forwarded', 'for="_x";proto=gopher', [200]],
    ];
    for (const [name, value, statuses] of rows) {
      const response = await service.send('GET', `/users/${id}`, { headers: { [name]: value } });
      t.ok(statuses.includes(response.status), `${name}: ${value.slice(0, 20)}: ${response.status}`);
      t.notMatch(response.headers['x-request-id'], /[<>"]|a{65}/, 'no request id but a fit one is repeated');
    }
  });
});
