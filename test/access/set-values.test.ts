import { openForCallers, valuesOf } from '../support/callers.js';
import { ADMIN, text, withAccess } from '../support/declared.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const ORDERS = withAccess(
  {
    title: text,
    status: text,
    kind: { type: 'string', 'x-immutable': true },
    number: { type: 'integer', 'x-index': true, 'x-set': { next: true } },
    createdBy: { type: 'string', 'x-index': true, 'x-set': '$caller' },
    changedBy: { type: 'string', 'x-set': { value: '$caller', on: 'write' } },
  },
  [
    { can: 'create', where: { createdBy: '$caller' }, fields: ['title', 'status'] },
    { can: ['read', 'update', 'delete'], where: { createdBy: '$caller' }, fields: ['title', 'status'] },
    ADMIN,
  ],
  { history: true },
  { title: 'Ticket' },
);

async function open(t: Test) {
  const { as, admin: operator } = await openForCallers(t, { 'orders.json': ORDERS });
  const scopes = ['orders:read', 'orders:write', 'events:read'];
  return { operator, ann: await as('ann', ...scopes), bob: await as('bob', ...scopes) };
}

t.test('rules compare and hide the values that the service sets, and these remain', async (t) => {
  const { operator, ann, bob } = await open(t);
  const made = await ann('POST', '/orders', { title: 'a', status: 'open' });
  t.match(made, { status: 201, json: { title: 'a', number: undefined, createdBy: undefined } });
  const path = `/orders/${made.json.id}`;
  t.match((await operator('GET', path)).json, { number: 1, createdBy: 'ann', changedBy: 'ann' });
  t.equal((await bob('GET', path)).status, 404);
  t.match(await operator('PATCH', path, { status: 'late' }), { status: 200, json: { changedBy: 'root' } });
  const replaced = await ann('PUT', path, { title: 'b' });
  t.match(replaced, { status: 200, json: { title: 'b', changedBy: undefined } });
  const whole = { title: 'b', number: 1, createdBy: 'ann', changedBy: 'ann' };
  t.match((await operator('GET', path)).json, whole);
  t.match(await ann('PATCH', path, { title: 'c' }), { status: 200, json: { title: 'c' } });
  t.match((await operator('GET', path)).json, { ...whole, title: 'c' });
  t.equal((await ann('PATCH', path, { number: 2 })).status, 403);
  t.equal((await ann('PUT', path, { title: 'd', createdBy: 'bob' })).status, 403);
  t.equal((await ann('POST', '/orders', { title: 'd', kind: 'x' })).status, 403);
  const fixed = (await operator('POST', '/orders', { title: 'e', kind: 'x' })).json.id;
  t.equal((await ann('PATCH', `/orders/${fixed}`, { title: 'f' })).status, 404);
});

t.test('readers of a part learn who changed a record, and what they may read of it', async (t) => {
  const { operator, ann } = await open(t);
  const { id } = (await ann('POST', '/orders', { title: 'a' })).json;
  await operator('PATCH', `/orders/${id}`, { title: 'concealed', createdBy: 'ann' });
  await operator('PATCH', `/orders/${id}`, { title: 'c' });
  const eventsOf = async (reader: typeof ann) => {
    const { json } = await until(
      'the events are final',
      () => reader('GET', '/events?types=orders.*'),
      ({ json }) => json.data.length === 3,
    );
    return valuesOf(json.data, 'actor');
  };
  t.same(await eventsOf(operator), ['ann', 'root', 'root']);
  t.same(await eventsOf(ann), ['ann', 'root', 'root']);
  const pageOf = async (call: typeof ann) =>
    (await call('GET', `/orders/${id}`, undefined, { accept: 'text/html' })).text;
  const [all, part] = [await pageOf(operator), await pageOf(ann)];
  for (const shown of [/<li[^>]*><b>You<\/b> /, /concealed/]) t.match(all, shown);
  // The grant shows the title.
  for (const shown of [/version 3/, /version 1/, /<li[^>]*>root /, /concealed/]) t.match(part, shown);
  t.notMatch(part, /<dt>Number<\/dt><dd>1/);

  await operator('DELETE', `/orders/${id}`);
  const last = await until(
    'the deletion is final',
    () => operator('GET', '/events?types=orders.deleted'),
    ({ json }) => json.data.length === 1,
  );
  t.match(last.json.data, [{ actor: 'root' }], 'the actor of a deletion passes through the rules');
  const seen = await ann('GET', '/events?types=orders.deleted');
  t.match(seen.json.data, [{ actor: 'root' }], 'a reader of a part sees it as well');
});
