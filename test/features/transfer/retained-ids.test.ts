import type { JsonObject } from '../../../src/json.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { importing } from './imports.js';

async function shop(t: Test) {
  const world = await importing(t, undefined, { TOMBSTONES: 'on' });
  const load = (records: readonly unknown[], ...args: string[]) =>
    world.load(['items', world.put('items.ndjson', records), ...args]);
  return { ...world, load, imported: world.load, item: (id: string) => world.all(`/items/${id}`) };
}

const UNCHANGED = 'items: 0 stored, 0 refused, 1 unchanged\n';
const withoutLinks = ({ _links, ...record }: Record<string, unknown>) => record;

t.test('a record with the id of a stored one: unchanged, refused, skipped or replaced', async (t) => {
  const { send, load, item } = await shop(t);
  const { json } = await send('POST', '/items', { body: { name: 'lamp', price: 1 } });
  const stored = withoutLinks(json);
  const changed = { ...stored, price: 2 };
  t.same(await load([stored], '--keep-ids'), { code: 0, out: UNCHANGED, err: '' });
  t.match(await load([changed], '--keep-ids'), {
    code: 1,
    out: 'items: 0 stored, 1 refused\n',
    err: /:1\/id: ID_TAKEN: Another record has this id. \(value "[^"]+"/,
  });
  t.match(await load([changed], '--on-conflict', 'skip'), { out: UNCHANGED });
  t.match(await item(json.id), { price: 1, _version: 1 });
  const replaced = await load([changed], '--on-conflict', 'replace');
  t.match(replaced, { code: 0, out: 'items: 1 stored, 0 refused\n' });
  t.match(await item(json.id), { price: 2, _version: 2, created_at: json.created_at });
  t.match(await load([changed], '--on-conflict', 'replace'), { out: UNCHANGED });
  await until(
    'the update is the last event',
    async () => (await send('GET', '/events?limit=100')).json.data.map(({ type }: JsonObject) => type),
    (types: string[]) => types.at(-1) === 'items.updated',
  );
  const twice = [3, 4].map((price) => ({ ...changed, price }));
  t.match(await load(twice, '--keep-ids'), { out: /2 refused/ });
});

t.test('records are equal whatever the order of their members is', async (t) => {
  const { send, load, item, ...world } = await shop(t);
  const { json } = await send('POST', '/items', {
    body: { price: 1e21, name: 'a "b"', tags: [{ b: 1, a: [] }], undeclared: null },
  });
  const { id, name, price, ...rest } = withoutLinks(json);
  const reordered = { name, undeclared: null, ...rest, tags: [{ a: [], b: 1 }], price, id };
  for (const conflict of ['fail', 'replace'])
    t.match(await load([reordered], '--on-conflict', conflict), { code: 0, out: UNCHANGED });
  t.equal((await item(json.id))._version, 1);
  for (const format of ['json', 'ndjson', 'csv']) {
    const file = `exported.${format}`;
    t.match(await world.run('export', 'items', '-o', file), { code: 0 });
    t.match(await world.run('import', 'items', file, '--keep-ids'), { code: 0, out: UNCHANGED });
  }
  t.match(await load([{ ...reordered, price: 2 }, reordered], '--keep-ids'), {
    code: 1,
    out: 'items: 0 stored, 1 refused, 1 unchanged\n',
  });
  t.match(await load([{ ...reordered, tags: [{ a: 1, b: [] }] }], '--keep-ids'), { code: 1 });
});

t.test('an id, times and a version that cannot be retained are refused, each with its path', async (t) => {
  const { send, load, item } = await shop(t);
  const id = '01890a5d-ac96-774b-bcce-b302099a8057';
  const created_at = new Date(0x01890a5dac96).toISOString();
  for (const [record, fault] of [
    [{ id: 7 }, /:1\/id: must be a UUID of version 7/],
    [{ id: '9a9d9bd4-6f0a-4f0e-8f0a-0f0e8f0a0f0e' }, /:1\/id: must be a UUID of version 7/],
    [{ id, created_at: '2020-01-01T00:00:00Z' }, /:1\/created_at: must be the time in the id, 2023/],
    [{ id, updated_at: 'yesterday' }, /:1\/updated_at: must be a time/],
    [{ id, _version: 0 }, /:1\/_version: must be an integer from 1/],
    [{ id, _version: 1.5 }, /:1\/_version: must be an integer from 1/],
  ] as const)
    t.match(await load([{ name: 'x', ...record }], '--keep-ids'), { code: 1, err: fault }, String(fault));
  const dated = { name: 'x', id, updated_at: '2024-01-01T02:00:00+02:00', _version: 5 };
  const both = await load([dated, { name: 'new' }], '--keep-ids');
  t.match(both, { code: 0, out: 'items: 2 stored, 0 refused\n' });
  t.match(await item(id), { created_at, updated_at: '2024-01-01T00:00:00.000Z', _version: 5 });
  t.equal((await send('PATCH', `/items/${id}`, { body: { price: 1 } })).json._version, 6);
  t.equal((await send('DELETE', `/items/${id}`)).status, 204);
  t.equal((await send('GET', `/items/${id}`)).status, 410);
  t.match(await load([{ name: 'back', id }], '--keep-ids'), { code: 0 });
  t.equal((await send('GET', `/items/${id}`)).status, 200, 'a record that comes back is not gone');
});

t.test('--dry-run reports what an import would, and stores nothing', async (t) => {
  const { all, load, imported } = await shop(t);
  const records = [{ name: 'a' }, { name: 1 }, { name: 'c' }];
  t.match(await load(records, '--dry-run'), {
    code: 1,
    out: 'items: 2 valid, 1 refused\n',
    err: /:2\/name: must be of type string/,
  });
  t.same(await all('/items?order=asc'), []);
  t.match(await load(records, '--dry-run', '--resume'), { code: 64, err: /--dry-run stores nothing/ });
  t.match(await load(records), { out: 'items: 2 stored, 1 refused\n' });
  const shown = await imported(['items', '-', '--dry-run', '--json'], '{"name":"z"}\n');
  t.match(shown, { code: 0, out: /"dry_run": ?true/ });
  t.equal((await all('/items?order=asc')).length, 2);
});

t.test('the number of printed reasons is bounded', async (t) => {
  const { load } = await shop(t);
  const { err, out } = await load(Array.from({ length: 250 }, () => ({})));
  t.equal(out, 'items: 0 stored, 250 refused\n');
  const lines = err.trim().split('\n');
  t.equal(lines.length, 101);
  t.equal(lines.at(-1), '... and 150 more reasons');
});
