import { byKey as by, byPassword, makeKey, PASSWORD } from '../support/credentials.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const ENV = { AUTH: 'api-key,basic', INSECURE: 'basic', BASIC_SCOPES: 'self items:write' };

/** A service with a user, as an administrator's key made it. */
async function setUp(t: Test) {
  const { db, send } = await testService(t, ENV);
  const admin = by((await makeKey(db)).key);
  const ann = await send('POST', '/users', {
    headers: admin,
    body: { email: 'ann@example.org', name: 'Ann' },
  });
  return { db, send, admin, id: ann.json.id as string };
}

// docs/security.md says each of these, as limits of what the service protects.

t.test('users:write includes what every user may', async (t) => {
  const { db, send, id } = await setUp(t);
  const writer = by((await makeKey(db, { scopes: ['users:write'] })).key);
  const body = { name: 'Lamp' };
  t.equal((await send('POST', '/items', { headers: writer, body })).status, 403);
  const reset = await send('PATCH', `/users/${id}`, { headers: writer, body: { password: PASSWORD } });
  t.equal(reset.status, 200, 'without the current password');
  t.equal((await send('POST', '/items', { headers: byPassword('ann@example.org'), body })).status, 201);
});

t.test('admin can act as anyone, and a key outlives the user that is its subject', async (t) => {
  const { send, admin, id } = await setUp(t);
  const made = await send('POST', '/keys', {
    headers: admin,
    body: { label: 'as Ann', subject: id, scopes: ['self', 'items:read'] },
  });
  const own = by(made.json.key);
  t.equal((await send('GET', `/users/${id}`, { headers: own })).json.name, 'Ann');
  t.equal((await send('DELETE', `/users/${id}`, { headers: admin })).status, 204);
  t.equal((await send('GET', '/items', { headers: own })).status, 200, 'the key is to be revoked');
});

t.test('earlier versions of a deleted record stay in the events', async (t) => {
  const { send, admin, id } = await setUp(t);
  t.equal((await send('DELETE', `/users/${id}`, { headers: admin })).status, 204);
  const { json } = await send('GET', '/events?types=users.*', { headers: { ...admin, prefer: 'wait=10' } });
  t.match(json.data[0], { type: 'users.created', data: { email: 'ann@example.org' } });
});
