import { prune } from '../../src/db/maintenance.js';
import { RETENTION, testService } from '../support/service.js';
import t from '../support/test.js';

const LARGE = 'x'.repeat(950_000);
const keyed = (key: string) => ({ 'idempotency-key': key });

t.test('small patches of a large record do not copy it into stored responses', async (t) => {
  const { send, db } = await testService(t);
  const item = { name: 'large', text: LARGE };
  const created = await send('POST', '/items', { headers: keyed('create'), body: item });
  const path = created.headers.location!;
  t.equal((await send('POST', '/items', { headers: keyed('create'), body: item })).text, created.text);
  for (let n = 0; n < 10; n++) {
    const response = await send('PATCH', path, { headers: keyed(`k${n}`), body: { n } });
    t.equal(response.status, 200);
    const again = await send('PATCH', path, { headers: keyed(`k${n}`), body: { n } });
    t.match(again, { status: 200, headers: { 'idempotency-replayed': 'true', etag: response.headers.etag } });
    t.equal(again.text, response.text, 'a repeat of the current version is the same');
  }
  const operations = Array.from({ length: 4 }, (_, n) => ({ method: 'PATCH', path, body: { n } }));
  const first = await send('POST', '/batch', { headers: keyed('batch'), body: operations.slice(0, 1) });
  const again = await send('POST', '/batch', { headers: keyed('batch'), body: operations.slice(0, 1) });
  t.equal(again.text, first.text);
  t.equal((await send('POST', '/batch', { headers: keyed('batch-4'), body: operations })).status, 200);
  const [stored] = await db.run(
    'select sum(bytes)::integer as bytes, count(*)::integer from idempotency_keys',
    [],
  );
  t.equal(stored!.count, 13);
  t.ok((stored!.bytes as number) < 20_000, `${stored!.bytes} bytes are stored`);
});

t.test('a repeat after a large record was changed or deleted has no record', async (t) => {
  const { send } = await testService(t);
  const body = { name: 'large', text: LARGE.slice(0, 10_000) };
  const create = () => send('POST', '/items', { headers: keyed('create'), body });
  const first = await create();
  const path = first.headers.location!;
  const patch = () => send('PATCH', path, { headers: keyed('patch'), body: { n: 1 } });
  const operations = [
    { method: 'PATCH', path, body: { n: 2 } },
    { method: 'POST', path: '/items', body: { name: 'small' } },
  ];
  const batch = () => send('POST', '/batch', { headers: keyed('batch'), body: operations });
  const patched = await patch();
  const batched = await batch();
  t.equal((await batch()).text, batched.text);
  t.equal((await send('PATCH', path, { body: { n: 3 } })).status, 200);
  const minimal = { 'idempotency-replayed': 'true', 'preference-applied': 'return=minimal' };
  for (const state of ['changed', 'deleted']) {
    t.match(
      await create(),
      { status: 201, text: '', headers: { ...minimal, etag: '"1"', location: path } },
      state,
    );
    t.match(await patch(), { status: 204, headers: { ...minimal, etag: patched.headers.etag } }, state);
    const { results } = (await batch()).json;
    t.match(
      results[0],
      { status: 204, headers: { 'preference-applied': 'return=minimal', etag: '"3"' } },
      state,
    );
    t.notOk('body' in results[0]);
    t.same(results[1], batched.json.results[1], 'a small record is stored as it was');
    t.equal((await send('DELETE', path)).status, 204);
  }
});

t.test('a batch with a key that responds with large pages is refused and writes nothing', async (t) => {
  const { send } = await testService(t);
  for (const name of ['a', 'b'])
    await send('POST', '/items', { body: { name, text: LARGE.slice(0, 40_000) } });
  const body = [
    { method: 'POST', path: '/items', body: { name: 'new' } },
    { method: 'GET', path: '/items?page=1' },
  ];
  t.match(await send('POST', '/batch', { headers: keyed('b'), body }), {
    status: 413,
    json: { error: { code: 'STORED_RESPONSE_TOO_LARGE', details: { limit: 65_536 } } },
  });
  t.equal((await send('GET', '/items')).json.meta.total, 2);
  t.equal((await send('POST', '/batch', { body })).status, 200, 'without a key it is a batch like any other');
});

t.test('beyond the bytes of stored responses, who stores most loses the oldest', async (t) => {
  const { send, db } = await testService(t);
  for (let n = 0; n < 5; n++) await send('POST', '/items', { headers: keyed(`k${n}`), body: { name: 'x' } });
  await db.run("update idempotency_keys set caller = 'another' where key = 'k0'", []);
  const keys = async () =>
    (await db.run('select key from idempotency_keys order by created_at', [])).map(({ key }) => key);
  await prune(db, RETENTION);
  t.equal((await keys()).length, 5);
  const [one] = await db.run('select max(bytes) as bytes from idempotency_keys', []);
  await prune(db, { ...RETENTION, idempotencyMaxBytes: 3 * (one!.bytes as number) });
  t.same(await keys(), ['k0', 'k3', 'k4']);
});
