import { declare } from '../../support/collections.js';
import { makeKey } from '../../support/credentials.js';
import { type ServiceResponse, type TestService, testService } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

const ASYNC = { prefer: 'respond-async' };

/** The job when it has ended. */
const ended = (service: TestService, location: string, headers: Record<string, string> = {}) =>
  until(
    'the job has ended',
    () => service.send('GET', location, { headers }),
    ({ json }: ServiceResponse) => ['done', 'failed'].includes(json.state),
  );

async function withRecords(service: TestService, count: number): Promise<void> {
  const body = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ name: `n${n}`, price: n, text: 'ä'.repeat(150) }),
  );
  const { status } = await service.send('POST', '/items', {
    type: 'application/x-ndjson',
    body: body.join('\n'),
  });
  if (status !== 201) throw new Error(`status ${status}`);
}

t.test('a job exports what a list without the preference would stream', async (t) => {
  const service = await testService(t);
  const { send } = service;
  await withRecords(service, 3000);
  const lists = [
    ['application/x-ndjson', '/items?filter[price][gte]=100&sort=-price'],
    ['text/csv', '/items?fields=name,price&filter[price][lt]=50'],
    ['application/x-ndjson', '/items?fields=name&search=n29'],
    ['application/x-ndjson', '/items?filter[price]=-1'],
    ['text/csv', '/api/v2/items?sort=-price,name'],
  ] as const;
  for (const [accept, path] of lists) {
    const accepted = await send('GET', path, { headers: { accept, ...ASYNC } });
    t.match(accepted, {
      status: 202,
      headers: { 'preference-applied': 'respond-async' },
      text: '',
    });
    const { json } = await ended(service, accepted.headers.location!);
    t.match(json, { kind: 'export', collection: 'items' });
    const result = await send('GET', json._links.result.href);
    const plain = await send('GET', path, { headers: { accept } });
    t.equal(result.status, 200);
    t.equal(result.text, plain.text, path);
    t.equal(json.result.bytes, result.bytes.length);
    t.match(result.headers, {
      'content-type': plain.headers['content-type']!,
      'content-length': String(result.bytes.length),
      'accept-ranges': 'bytes',
      'content-disposition': /^attachment; filename="items\.(csv|ndjson)"$/,
    });
    const head = await send('HEAD', json._links.result.href);
    t.match(head, { status: 200, text: '', headers: { 'content-length': String(result.bytes.length) } });
    t.equal((await send('DELETE', accepted.headers.location!)).status, 204);
    t.equal((await send('GET', json._links.result.href)).status, 404);
  }
  for (const path of [
    '/items',
    '/items?filter[price][gte]=2990',
    '/items?filter[price]=-1',
    '/items?fields=name',
  ]) {
    const { headers } = await send('GET', path, { headers: { accept: 'application/json', ...ASYNC } });
    const { json } = await ended(service, headers.location!);
    const lines = await send('GET', path, { headers: { accept: 'application/x-ndjson' } });
    const { json: records } = await send('GET', json._links.result.href);
    t.same(
      records,
      lines.text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
      path,
    );
    await send('DELETE', headers.location!);
  }
  const query = await send('QUERY', '/items', {
    body: { filter: { price: { gte: 2998 } }, sort: ['-price'] },
    headers: { accept: 'text/csv', ...ASYNC },
  });
  const { json } = await ended(service, query.headers.location!);
  t.match((await send('GET', json._links.result.href)).text, /n2999,(.|\s)*n2998,/);
});

t.test('a result is downloaded in ranges', async (t) => {
  const service = await testService(t);
  const { send } = service;
  await withRecords(service, 2000);
  const { headers } = await send('GET', '/items', { headers: { accept: 'application/x-ndjson', ...ASYNC } });
  const { json } = await ended(service, headers.location!);
  const path = `${headers.location}/result`;
  const { bytes, headers: fields } = await send('GET', path);
  const length = bytes.length;
  t.equal(json.result.bytes, length);
  t.same(json.progress, { bytes: length });
  // As if the last part were still to come.
  const { db } = service;
  await db.run("update plinth_jobs set state = 'running', lease = id, leased_until = 'infinity'", []);
  const [last] = await db.run(
    'delete from plinth_job_parts where position = (select max(position) from plinth_job_parts) returning *',
    [],
  );
  const half = Number(last!.position);
  t.match(await send('GET', headers.location!), {
    json: { state: 'running', progress: { bytes: half }, result: undefined },
  });
  t.match((await send('GET', '/jobs')).json.data, [{ progress: { bytes: half } }]);
  await db.run('insert into plinth_job_parts (job, position, bytes) values ($1, $2, $3)', [
    last!.job as string,
    half,
    last!.bytes as string,
  ]);
  await db.run("update plinth_jobs set state = 'done', lease = null, leased_until = null", []);
  const get = (range: string, more: Record<string, string> = {}) =>
    send('GET', path, { headers: { range, ...more } });
  const cases: [string, number, number][] = [
    ['bytes=0-0', 0, 1],
    ['bytes=5-9', 5, 10],
    ['bytes=262100-262200', 262_100, 262_201],
    ['bytes=100000-', 100_000, length],
    ['bytes=-1000', length - 1000, length],
    [`bytes=-${length + 5}`, 0, length],
    [`bytes=10-${length + 5}`, 10, length],
  ];
  for (const [range, from, to] of cases) {
    const part = await get(range);
    t.match(part, {
      status: 206,
      headers: { 'content-range': `bytes ${from}-${to - 1}/${length}`, 'content-length': String(to - from) },
    });
    t.ok(part.bytes.equals(bytes.subarray(from, to)), range);
  }
  for (const range of ['bytes=0-1,5-6', 'lines=0-1', 'bytes=9-5', 'bytes=-', 'x'])
    t.match(await get(range), { status: 200, headers: { 'content-length': String(length) } }, range);
  for (const range of [`bytes=${length}-`, 'bytes=-0'])
    t.match(await get(range), { status: 416, headers: { 'content-range': `bytes */${length}` } }, range);
  const [etag, modified] = [fields.etag!, fields['last-modified']!];
  for (const ifRange of [etag, modified])
    t.equal((await get('bytes=1-2', { 'if-range': ifRange })).status, 206, ifRange);
  for (const ifRange of ['"other"', `W/${etag}`, 'Thu, 01 Jan 1970 00:00:00 GMT', 'x'])
    t.equal((await get('bytes=1-2', { 'if-range': ifRange })).status, 200, ifRange);
  const old = 'Thu, 01 Jan 1970 00:00:00 GMT';
  for (const [name, value, status] of [
    ['if-none-match', etag, 304],
    ['if-none-match', '*', 304],
    ['if-none-match', '"other"', 206],
    ['if-modified-since', modified, 304],
    ['if-modified-since', old, 206],
    ['if-match', etag, 206],
    ['if-match', '"other"', 412],
    ['if-unmodified-since', modified, 206],
    ['if-unmodified-since', old, 412],
    ['if-match', 'malformed', 400],
  ] as const) {
    const found = await get('bytes=1-2', { [name]: value });
    t.equal(found.status, status, `${name}: ${value}`);
    if (status === 304) t.match(found, { text: '', headers: { etag, 'last-modified': modified } });
    const whole = await send('HEAD', path, { headers: { [name]: value } });
    t.equal(whole.status, status === 206 ? 200 : status, `HEAD with ${name}: ${value}`);
  }
});

t.test('an export has the permission of its request, and refuses pages', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const { send, db } = service;
  const as = (key: string, more: Record<string, string> = {}) => ({ headers: { 'x-api-key': key, ...more } });
  const { key: admin } = await makeKey(db);
  const user = async (name: string) =>
    (await send('POST', '/users', { body: { email: `${name}@x.org`, name }, ...as(admin) })).json.id;
  const [ada, bob] = [await user('ada'), await user('bob')];
  for (const userId of [ada, bob]) await send('POST', '/posts', { body: { userId }, ...as(admin) });
  const { key } = await makeKey(db, { subject: ada, scopes: ['self'] });
  const { key: other } = await makeKey(db, { subject: bob, scopes: ['self'] });
  const list = { accept: 'application/x-ndjson', ...ASYNC };
  const accepted = await send('GET', '/posts', as(key, list));
  const location = accepted.headers.location!;
  const pending = await send('GET', `${location}/result`, as(key));
  t.ok([200, 409].includes(pending.status), String(pending.status));
  await ended(service, location, { 'x-api-key': key });
  const { text } = await send('GET', `${location}/result`, as(key));
  t.same(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).userId),
    [ada],
  );
  t.equal((await send('GET', `${location}/result`, as(other))).status, 404);
  t.equal((await send('GET', '/users', as(other, list))).status, 403);
  for (const path of ['/posts?limit=5', '/posts?page=2'])
    t.match(await send('GET', path, as(admin, list)), {
      status: 400,
      json: { error: { code: 'BAD_REQUEST' } },
    });
  t.match(await send('GET', '/posts?filter[nothing]=1', as(admin, list)), { status: 400 });
  const operations = [{ method: 'GET', path: '/posts?limit=5', headers: ASYNC }];
  t.match(await send('POST', '/batch', { body: { operations }, ...as(admin) }), {
    status: 200,
    json: { results: [{ status: 200, body: { meta: { total: 2 } } }] },
  });
  const creation = await send('POST', '/posts', {
    type: 'application/x-ndjson',
    body: JSON.stringify({ userId: ada }),
    headers: { 'x-api-key': admin, ...ASYNC },
  });
  t.equal(
    (await send('GET', `${creation.headers.location}/result`, as(admin))).status,
    404,
    'a creation has none',
  );
});

t.test('an export is bounded, and one that waits has no result', async (t) => {
  const COLLECTIONS = declare(t, { 'cups.json': { type: 'object', properties: {} } });
  const service = await testService(t, { COLLECTIONS, MIGRATE: 'auto' }, { jobBytes: 1024 });
  const { send, db } = service;
  const body = Array.from({ length: 20 }, () => '{"text":"xxxxxxxxxxxxxxxxxxx"}').join('\n');
  t.equal((await send('POST', '/cups', { type: 'application/x-ndjson', body })).status, 201);
  const { headers } = await send('GET', '/cups', { headers: { accept: 'text/csv', ...ASYNC } });
  t.match((await ended(service, headers.location!)).json, { state: 'failed', error: { status: 413 } });
  t.match(await send('GET', `${headers.location}/result`), {
    status: 409,
    json: { error: { code: 'RESULT_MISSING', details: { state: 'failed' } } },
  });
  const [parts] = await db.run('select count(*)::integer as number from plinth_job_parts', []);
  t.equal(parts!.number, 0);
});

t.test('the oldest of many results of a caller are removed', async (t) => {
  const service = await testService(t);
  await withRecords(service, 1);
  const locations: string[] = [];
  for (let n = 0; n < 23; n++) {
    const { headers } = await service.send('GET', '/items', { headers: ASYNC });
    locations.push(headers.location!);
    await ended(service, headers.location!);
  }
  const statuses = await Promise.all(
    locations.map(async (each) => (await service.send('GET', `${each}/result`)).status),
  );
  // The last job began when there were 22 results.
  t.same(
    statuses,
    locations.map((_, n) => (n < 2 ? 404 : 200)),
  );
});
