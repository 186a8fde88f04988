import { testService } from '../support/service.js';
import t from '../support/test.js';

t.test('a batch has ten operations with a password at most', async (t) => {
  const { send } = await testService(t);
  const password = 'correct horse battery staple';
  const create = (n: number, more: object = { password }) => ({
    method: 'POST',
    path: '/users',
    body: { email: `u${n}@example.org`, name: 'U', ...more },
  });
  const many = (count: number) => Array.from({ length: count }, (_, n) => create(n));
  const setting = (id: string) => [
    { method: 'PUT', path: `/users/${id}`, body: { email: `u0@example.org`, name: 'U', password } },
    { method: 'PATCH', path: `/users/${id}`, body: { password } },
    {
      method: 'PATCH',
      path: `/users/${id}`,
      headers: { 'content-type': 'application/json-patch+json' },
      body: [{ op: 'add', path: '/password', value: password }],
    },
  ];
  const body = [...many(8), ...setting('01900000-0000-7000-8000-000000000000')];
  for (const [says, operations] of [
    ['creations', many(11)],
    ['changes', body],
  ] as const) {
    const { status, json } = await send('POST', '/batch', { body: operations });
    t.equal(status, 400, says);
    t.match(json.errors, [{ keyword: 'maxItems', message: /more than 10 operations with a password/ }], says);
  }
  t.same((await send('GET', '/users')).json, []);
  const others = Array.from({ length: 20 }, (_, n) => create(100 + n, {}));
  t.equal((await send('POST', '/batch', { body: [...many(10), ...others] })).status, 200);
});
