import { type ServiceResponse, type TestService, testService } from '../support/service.js';
import t from '../support/test.js';

const PAST = 'Thu, 01 Jan 2015 00:00:00 GMT';
const FUTURE = 'Fri, 01 Jan 2088 00:00:00 GMT';
const ABSENT = '01890000-0000-7000-8000-000000000000';

/** A user at version 2, and ways to ask for it. */
async function subject(service: TestService, name: string) {
  const { send } = service;
  const created = (await send('POST', '/users', { body: { email: `${name}@example.org`, name } })).json;
  const path = `/users/${created.id}`;
  await send('PATCH', path, { body: { n: 0 } });
  const get = (headers: Record<string, string>, accept = 'application/json') =>
    send('GET', path, { headers: { accept, ...headers } });
  const put = (headers: Record<string, string>) =>
    send('PUT', path, { headers, body: { email: created.email, name } });
  return { path, email: created.email as string, get, put, current: await get({}) };
}

t.test('validators', async (t) => {
  const service = await testService(t);
  const { get, path, current } = await subject(service, 'validators');
  t.equal(current.headers.etag, '"2"');
  t.equal((await get({}, 'text/html')).headers.etag, '"2-html"');
  t.equal((await get({}, 'text/csv')).headers.etag, '"2-csv"');
  const second = new Date(current.json.updated_at).toUTCString();
  for (const accept of ['application/json', 'text/html', 'text/csv'])
    t.equal((await get({}, accept)).headers['last-modified'], second);
  const written = await service.send('PATCH', path, { body: { a: 1 } });
  t.match(written.headers, { etag: '"3"', 'last-modified': new Date(written.json.updated_at).toUTCString() });
  const created = await service.send('POST', '/items', { body: { name: 'x' } });
  t.match(created.headers, { etag: '"1"', 'last-modified': new Date(created.json.created_at).toUTCString() });
});

t.test('RFC 9110 section 13.2.2 for GET and HEAD, row by row', async (t) => {
  const service = await testService(t);
  const { get, path, current } = await subject(service, 'reads');
  const modified = String(current.headers['last-modified']);
  const rows: [says: string, headers: Record<string, string>, status: number][] = [
    ['1: If-Match is true', { 'if-match': '"2"' }, 200],
    ['1: If-Match is true for one of a list', { 'if-match': '"7", "2"' }, 200],
    ['1: If-Match: *', { 'if-match': '*' }, 200],
    ['1: If-Match is false', { 'if-match': '"1"' }, 412],
    ['1: If-Match compares strongly', { 'if-match': 'W/"2"' }, 412],
    ['1: If-Match of another representation', { 'if-match': '"2-html"' }, 412],
    ['2: If-Unmodified-Since is true', { 'if-unmodified-since': modified }, 200],
    ['2: If-Unmodified-Since is false', { 'if-unmodified-since': PAST }, 412],
    [
      '2: If-Unmodified-Since is ignored beside If-Match',
      { 'if-match': '"2"', 'if-unmodified-since': PAST },
      200,
    ],
    ['2: an invalid date is ignored', { 'if-unmodified-since': 'yesterday' }, 200],
    ['3: If-None-Match is false', { 'if-none-match': '"2"' }, 304],
    ['3: If-None-Match is false for one of a list', { 'if-none-match': '"1" , W/"2",' }, 304],
    ['3: If-None-Match compares weakly', { 'if-none-match': 'W/"2"' }, 304],
    ['3: If-None-Match: *', { 'if-none-match': '*' }, 304],
    ['3: If-None-Match is true', { 'if-none-match': '"1", "2-html"' }, 200],
    ['3: after If-Match is true', { 'if-match': '"2"', 'if-none-match': '"2"' }, 304],
    ['4: If-Modified-Since is false', { 'if-modified-since': modified }, 304],
    ['4: If-Modified-Since is false later too', { 'if-modified-since': FUTURE }, 304],
    ['4: If-Modified-Since is true', { 'if-modified-since': PAST }, 200],
    [
      '4: If-Modified-Since is ignored beside If-None-Match',
      { 'if-none-match': '"1"', 'if-modified-since': FUTURE },
      200,
    ],
    ['4: an invalid date is ignored', { 'if-modified-since': '2088-01-01' }, 200],
    ['4: obsolete dates are read', { 'if-modified-since': 'Fri Jan  2 00:00:00 2088' }, 304],
    ['5: none', {}, 200],
  ];
  for (const [says, headers, status] of rows) {
    const response = await get(headers);
    t.equal(response.status, status, says);
    t.equal(response.headers.etag, '"2"');
    t.equal((await service.send('HEAD', path, { headers })).status, status, `HEAD ${says}`);
    if (status === 412) t.match(response.json, { error: { code: 'PRECONDITION_FAILED' } });
    if (status !== 304) continue;
    t.equal(response.text, '');
    for (const name of ['etag', 'last-modified', 'vary', 'cache-control', 'api-version'] as const) {
      t.equal(response.headers[name], current.headers[name], `a 304 has the ${name} of a 200`);
    }
  }
  t.equal((await get({ 'if-none-match': '"2-csv"' }, 'text/csv')).status, 304);
  for (const field of ['if-match', 'if-none-match']) {
    for (const value of [
      '2',
      '"2',
      '"2" "3"',
      '*, "2"',
      '""2"',
      Array.from({ length: 101 }, () => '"1"').join(),
    ]) {
      t.match(
        await get({ [field]: value }),
        { status: 400, json: { error: { code: 'BAD_REQUEST' } } },
        value.slice(0, 20),
      );
    }
  }
  t.equal(
    (await service.send('GET', `/users/${ABSENT}`, { headers: { 'if-match': '*' } })).status,
    404,
    'section 13.2.1: not without a 2xx',
  );
});

t.test('RFC 9110 section 13.2.2 for PUT, PATCH and DELETE, row by row', async (t) => {
  const service = await testService(t);
  const modified = (response: ServiceResponse) => String(response.headers['last-modified']);
  type Make = (current: ServiceResponse) => Record<string, string>;
  const rows: [says: string, headers: Make, passes: boolean][] = [
    ['1: If-Match is true', () => ({ 'if-match': '"2"' }), true],
    ['1: If-Match is true for what was read as HTML', () => ({ 'if-match': '"2-html"' }), true],
    ['1: If-Match: *', () => ({ 'if-match': '*' }), true],
    ['1: If-Match is false', () => ({ 'if-match': '"1", "3"' }), false],
    ['1: If-Match compares strongly', () => ({ 'if-match': 'W/"2"' }), false],
    ['1: If-Match of a tag that no record has', () => ({ 'if-match': '"abc"' }), false],
    ['2: If-Unmodified-Since is true', (current) => ({ 'if-unmodified-since': modified(current) }), true],
    ['2: If-Unmodified-Since is false', () => ({ 'if-unmodified-since': PAST }), false],
    [
      '2: If-Unmodified-Since is ignored beside If-Match',
      () => ({ 'if-match': '"2"', 'if-unmodified-since': PAST }),
      true,
    ],
    ['3: If-None-Match is false', () => ({ 'if-none-match': 'W/"2"' }), false],
    ['3: If-None-Match: *', () => ({ 'if-none-match': '*' }), false],
    ['3: If-None-Match is true', () => ({ 'if-none-match': '"1"' }), true],
    ['4: If-Modified-Since is not for writes', () => ({ 'if-modified-since': FUTURE }), true],
  ];
  let n = 0;
  for (const [says, make, passes] of rows) {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const { path, email, current, get } = await subject(service, `w${n++}`);
      const body =
        method === 'PUT' ? { email, name: 'New' } : method === 'PATCH' ? { name: 'New' } : undefined;
      const response = await service.send(method, path, { headers: make(current), body });
      t.equal(response.status, passes ? (method === 'DELETE' ? 204 : 200) : 412, `${method} ${says}`);
      if (passes) continue;
      t.equal(response.headers.etag, '"2"', 'the current ETag');
      t.same(response.json.error.details.current, current.json, 'the current record');
      t.same((await get({})).json, current.json, 'nothing has changed');
    }
  }
});

t.test('preconditions on what is not there', async (t) => {
  const { send } = await testService(t);
  const path = `/users/${ABSENT}`;
  const body = { email: 'x@example.org', name: 'X' };
  t.equal(
    (await send('PUT', path, { body, headers: { 'if-none-match': '*' } })).status,
    404,
    'the service assigns ids',
  );
  t.equal((await send('PUT', path, { body, headers: { 'if-match': '"1"' } })).status, 404);
  t.equal((await send('PATCH', path, { body, headers: { 'if-match': '*' } })).status, 404);
  t.equal((await send('DELETE', path, { headers: { 'if-match': '*' } })).status, 412);
  t.equal((await send('DELETE', path, { headers: { 'if-none-match': '*' } })).status, 204);
  t.equal((await send('DELETE', '/users/7', { headers: { 'if-match': '"1"' } })).status, 412);
});

t.test('a list has a validator that changes with its rows, its total and its order', async (t) => {
  const { send } = await testService(t);
  const item = async (name: string) => (await send('POST', '/items', { body: { name } })).json;
  const first = await item('a');
  await item('b');
  const path = '/items?limit=1&page=2';
  const tag = async (query = path, accept = 'application/json') =>
    String((await send('GET', query, { headers: { accept } })).headers.etag);
  const before = await tag();
  t.equal(await tag(), before);
  const again = await send('GET', path, { headers: { 'if-none-match': `"x", ${before}` } });
  t.match(again, { status: 304, text: '', headers: { etag: before } });
  t.equal((await send('HEAD', path, { headers: { 'if-none-match': before } })).status, 304);
  t.equal((await send('GET', path, { headers: { 'if-match': '"x"' } })).status, 412);
  t.not(await tag(path, 'text/html'), before);
  t.not(await tag('/items?limit=1&page=1'), before);
  await send('PATCH', `/items/${first.id}`, { body: { price: 1 } });
  const patched = await tag();
  t.not(patched, before, 'a row changed');
  const other = await item('c');
  t.not(await tag(), patched, 'the total and the rows changed');
  await send('DELETE', `/items/${other.id}`);
  t.equal(await tag(), patched, 'the same list again');
});

t.test('REQUIRE_IF_MATCH makes unconditional writes 428', async (t) => {
  const service = await testService(t, { REQUIRE_IF_MATCH: 'on' });
  const { json } = await service.send('POST', '/items', { body: { name: 'x' } });
  const path = `/items/${json.id}`;
  const attempts = (headers: Record<string, string>) => [
    service.send('PUT', path, { headers, body: { name: 'y' } }),
    service.send('PATCH', path, { headers, body: { name: 'y' } }),
    service.send('DELETE', path, { headers }),
  ];
  for (const headers of [{}, { 'if-none-match': '"9"' }, { 'if-unmodified-since': FUTURE }] as Record<
    string,
    string
  >[]) {
    for (const response of attempts(headers))
      t.match(await response, { status: 428, json: { error: { code: 'PRECONDITION_REQUIRED' } } });
  }
  for (const [method, etag, body, status] of [
    ['PUT', '"1"', { name: 'y' }, 200],
    ['PATCH', '"2"', { name: 'z' }, 200],
    ['DELETE', '"3"', undefined, 204],
  ] as const)
    t.equal(
      (await service.send(method, path, { headers: { 'if-match': etag }, body })).status,
      status,
      method,
    );
});
