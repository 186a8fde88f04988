import { type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

/** 480,000 zeros in 28 nested arrays: indented, it would be 28 MB. */
const NESTED = JSON.parse(`${'['.repeat(28)}${'0,'.repeat(479_999)}0${']'.repeat(28)}`);
const MANY = 'a'.repeat(900_000);

async function created(t: Test, { send }: TestService, path: string, body: object): Promise<string> {
  const response = await send('POST', path, { body });
  t.equal(response.status, 201);
  return response.json.id;
}

async function withPosts(t: Test, service: TestService, count: number): Promise<string> {
  const user = await created(t, service, '/users', { email: 'a@example.org', name: 'Ann' });
  for (let at = 0; at < count; at++)
    await created(t, service, `/users/${user}/posts`, { title: `${at}`, x: MANY });
  return user;
}

const batchOf = (count: number, path: string, headers = {}) =>
  Array.from({ length: count }, () => ({ method: 'GET', path, headers }));

t.test('HTML of a large record is cut, and not indented', async (t) => {
  const service = await testService(t);
  const id = await created(t, service, '/items', { name: 'Zoë', deep: NESTED, '<b>': '<'.repeat(20_000) });
  const accept = { headers: { accept: 'text/html' } };
  const page = await service.send('GET', `/items/${id}`, accept);
  t.equal(page.status, 200);
  t.ok(page.text.length < 400_000, `${page.text.length} characters`);
  t.ok(/<pre>\[{28}0,0,0/.test(page.text), 'not indented');
  t.ok(page.text.includes('… (943671 more characters)'));
  t.ok(page.text.includes('… (3616 more characters)'));
  const wide = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`f${n}`, n]));
  const many = await created(t, service, '/items', { name: 'wide', ...wide });
  t.match(
    (await service.send('GET', `/items/${many}`, accept)).text,
    '<p>The JSON representation has all fields.',
  );
});

t.test('a batch is 413 once its responses exceed their limit, and nothing of it took place', async (t) => {
  const service = await testService(t, {}, { batchBytes: 2_000_000 });
  const id = await created(t, service, '/items', { name: 'large', x: MANY });
  const price = { method: 'PATCH', path: `/items/${id}`, body: { price: 1 } };
  const body = [price, ...batchOf(5, `/items/${id}`)];
  const refused = await service.send('POST', '/batch', { body });
  t.equal(refused.status, 413);
  t.match(refused.json.error, {
    code: 'RESPONSE_TOO_LARGE',
    message: 'Operation 2: The responses of a batch may have at most 2000000 bytes.',
    details: { operation: 2, details: { limit: 2_000_000 } },
  });
  t.notOk('price' in (await service.send('GET', `/items/${id}`)).json, 'the patch was rolled back');
  const two = await service.send('POST', '/batch', { body: body.slice(0, 2) });
  t.same([two.status, two.json.results.length], [200, 2]);
});

t.test('a page of large records is streamed; in a batch it is 413', async (t) => {
  const service = await testService(t, {}, { dbStreams: 1 });
  const user = await withPosts(t, service, 6);
  const path = `/users/${user}/posts?page=1&limit=100`;
  const refused = await service.send('POST', '/batch', { body: batchOf(60, path) });
  t.equal(refused.status, 413);
  t.match(refused.json.error, {
    code: 'RESPONSE_TOO_LARGE',
    details: { operation: 0, details: { limit: 1_048_576 } },
  });
  const html = batchOf(1, path, { accept: 'text/html' });
  t.equal((await service.send('POST', '/batch', { body: html })).status, 406, 'a batch has no pages');

  const page = await service.send('GET', path);
  t.equal(page.status, 200);
  t.equal(page.headers['transfer-encoding'], 'chunked');
  t.equal(page.headers['content-type'], 'application/json');
  t.equal(page.headers['cache-control'], 'private, no-cache');
  t.equal(page.headers.etag, undefined);
  t.ok(page.headers['events-cursor']);
  t.same(
    page.json.data.map(({ title }: { title: string }) => title),
    ['0', '1', '2', '3', '4', '5'],
  );
  t.same(page.json.meta, { page: 1, limit: 100, total: 6, totalPages: 1 });
  t.equal(page.json.links.self, path);
  const head = await service.send('HEAD', path);
  t.same([head.status, head.text], [200, '']);

  const second = await service.send('GET', '/posts?page=2&limit=4');
  t.same(
    second.json.data.map(({ title }: { title: string }) => title),
    ['4', '5'],
    'the bounds hold',
  );
  t.equal(second.json.links.prev, '/posts?page=1&limit=4');
  t.same((await service.send('GET', '/posts?page=3&limit=4')).json.data, []);
});

t.test('an HTML list of large records shows how each begins', async (t) => {
  const service = await testService(t);
  const user = await withPosts(t, service, 3);
  const { status, text } = await service.send('GET', `/users/${user}/posts`, {
    headers: { accept: 'text/html' },
  });
  t.equal(status, 200);
  t.ok(text.length < 20_000, `${text.length} characters`);
  t.equal(text.match(/>a{120}…<\/td>/g)?.length, 3);
  t.match(text, '<span class="dim">3 posts</span>');
});

t.test('large records are read among others, whatever becomes of them', async (t) => {
  const service = await testService(t, { TOMBSTONES: 'on' });
  const path = '/items';
  const large = [];
  for (let at = 0; at < 4; at++)
    large.push(await created(t, service, path, { name: `large ${at}`, x: MANY }));
  const small = await created(t, service, path, { name: 'small' });
  const gone = await created(t, service, path, { name: 'gone', x: MANY });
  await service.send('DELETE', `${path}/${gone}`);
  for (let round = 0; round < 3; round++) {
    const ids = [...large, small, gone, ...large];
    const responses = await Promise.all(ids.map((id) => service.send('GET', `${path}/${id}`)));
    t.same(
      responses.map(({ status, json }) => json.name ?? status),
      ['large 0', 'large 1', 'large 2', 'large 3', 'small', 410, 'large 0', 'large 1', 'large 2', 'large 3'],
    );
    t.same(responses[0]!.json.x, MANY);
    t.match(responses[0]!.headers.etag, /^"1"$/);
  }
  const patched = await service.send('PATCH', `${path}/${large[0]}`, {
    body: [{ op: 'remove', path: '/x' }],
    type: 'application/json-patch+json',
  });
  t.same([patched.status, patched.json._version, 'x' in patched.json], [200, 2, false]);
  const batch = await service.send('POST', '/batch', { body: batchOf(2, `${path}/${large[1]}`) });
  t.equal(batch.json.results[1].body.x, MANY);
});
