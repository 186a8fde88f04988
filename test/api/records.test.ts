import t from 'tap';
import { testService } from '../service.js';

t.test('a user goes through create, get, replace, patch and delete', async (t) => {
  const { send } = await testService(t);
  const created = await send('POST', '/api/v1/users', {
    body: { email: ' Ann@Example.ORG ', name: ' Ann ', age: '42', nick: 'a' },
  });
  t.equal(created.status, 201);
  t.match(created.json, { email: 'ann@example.org', name: 'Ann', age: 42, nick: 'a', _version: 1 });
  t.equal(created.headers.location, `/users/${created.json.id}`);
});
