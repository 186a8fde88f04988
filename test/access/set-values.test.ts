import { PageVisitor } from '../features/pages/visitor.js';
import { declaredService } from '../support/callers.js';
import { makeKey } from '../support/credentials.js';
import type { TestService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const ORDERS = {
  title: 'Ticket',
  type: 'object',
  properties: {
    title: { type: 'string', 'x-index': true },
    status: { type: 'string', 'x-index': true },
    kind: { type: 'string', 'x-immutable': true },
    number: { type: 'integer', 'x-index': true, 'x-set': { next: true } },
    createdBy: { type: 'string', 'x-index': true, 'x-set': '$caller' },
    changedBy: { type: 'string', 'x-set': { value: '$caller', on: 'write' } },
  },
  'x-collection': {
    history: true,
    access: [
      { can: 'create', where: { createdBy: '$caller' }, fields: ['title', 'status'] },
      { can: ['read', 'update', 'delete'], where: { createdBy: '$caller' }, fields: ['title', 'status'] },
      { can: 'all', scope: 'admin' },
    ],
  },
};

async function open(t: Test) {
  const service = await declaredService(t, { 'orders.json': ORDERS }, { AUTH: 'api-key' });
  const as = async (subject: string, ...scopes: string[]) => {
    const { key } = await makeKey(service.db, scopes.length > 0 ? { subject, scopes } : { subject });
    const send = (method: string, path: string, body?: unknown): ReturnType<TestService['send']> =>
      service.send(method, path, { body, headers: { 'x-api-key': key } });
    return Object.assign(send, { key });
  };
  const scopes = ['orders:read', 'orders:write', 'events:read'];
  return {
    service,
    operator: await as('root'),
    ann: await as('ann', ...scopes),
    bob: await as('bob', ...scopes),
  };
}

t.test('rules compare and hide the values that the service sets, and these remain', async (t) => {
  const { operator, ann, bob } = await open(t);
  const made = await ann('POST', '/orders', { title: 'a', status: 'open' });
  t.match(made, { status: 201, json: { title: 'a', number: undefined, createdBy: undefined } });
  const path = `/orders/${made.json.id}`;
  t.match((await operator('GET', path)).json, { number: 1, createdBy: 'ann', changedBy: 'ann' });
  t.equal((await bob('GET', path)).status, 404);
  t.match(await operator('PATCH', path, { status: 'late' }), { status: 200, json: { changedBy: 'root' } });
  t.match(await ann('PUT', path, { title: 'b' }), {
    status: 200,
    json: { title: 'b', changedBy: undefined },
  });
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
  const { service, operator, ann } = await open(t);
  const { id } = (await ann('POST', '/orders', { title: 'a' })).json;
  await operator('PATCH', `/orders/${id}`, { title: 'concealed', createdBy: 'ann' });
  await operator('PATCH', `/orders/${id}`, { title: 'c' });
  const eventsOf = async (reader: typeof ann) => {
    const { json } = await until(
      'the events are final',
      () => reader('GET', '/events?types=orders.*'),
      ({ json }) => json.data.length === 3,
    );
    return (json.data as { actor?: string }[]).map(({ actor }) => actor);
  };
  t.same(await eventsOf(operator), ['ann', 'root', 'root']);
  t.same(await eventsOf(ann), ['ann', 'root', 'root']);
  const pageOf = async ({ key }: typeof ann) =>
    (await new PageVisitor(service, { 'x-api-key': key }).get(`/orders/${id}`)).text;
  const [all, part] = [await pageOf(operator), await pageOf(ann)];
  t.match(all, /<li><b>You<\/b> /);
  t.match(all, /concealed/);
  t.match(part, /version 3/);
  t.match(part, /version 1/);
  t.match(part, /<li>root /);
  t.match(part, /concealed/, 'the title, which the grant shows');
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
