import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const users = (properties: object) => ({ 'users.json': { properties } });

t.test('an addition to a field of users leaves its other rules as they are', async (t) => {
  const folder = declare(
    t,
    users({ password: { minLength: 12 }, email: { title: 'E-mail' }, age: { maximum: 99 } }),
  );
  const { send, db } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const body = { email: ' Ann@Example.org ', name: 'Ann', password: 'correct horse battery' };
  const created = await send('POST', '/users', { body });
  t.match(created, { status: 201, json: { email: 'ann@example.org' } });
  const path = `/users/${created.json.id}`;
  t.match(await send('PATCH', path, { body: { password: 'short: 11 c' } }), {
    status: 400,
    json: { errors: [{ path: '/password', keyword: 'minLength' }] },
  });
  t.equal((await send('PATCH', path, { body: { password: 'battery horse correct' } })).status, 200);
  t.equal((await send('POST', '/users', { body: { ...body, age: 100 } })).status, 400);
  t.equal((await send('POST', '/users', { body: { ...body, password: null } })).status, 409);
  const events = await until(
    'the events are final',
    () => send('GET', '/events'),
    ({ json }) => json.data.length === 2,
  );
  for (const { text } of [created, await send('GET', path), await send('GET', '/users'), events])
    t.notMatch(text, /horse|password/);
  t.match(await db.run('select hash from passwords', []), [{ hash: /^\$?scrypt/ }]);
});

t.test('a declaration in which a credential is not protected is refused', async (t) => {
  const rows: [pointer: string, properties: object][] = [
    ['password/writeOnly', { password: { writeOnly: false } }],
    ['password/writeOnly', { password: { writeOnly: null } }],
    ['password', { password: true }],
    ['password', { password: false }],
    ['password/type', { password: { type: ['string', 'number'] } }],
    ['password/maxLength', { password: { maxLength: 100_000 } }],
    ['password/default', { password: { default: 'password1' } }],
    ['password/readOnly', { password: { readOnly: true } }],
    ['password/x-was', { password: { 'x-was': 'nickname' } }],
    ['password/x-index', { password: { 'x-index': true } }],
    ['password/default', { password: { $ref: '_shared.json#/$defs/d' } }],
    ['current_password/writeOnly', { current_password: { writeOnly: false } }],
    ['password_hash/writeOnly', { password_hash: { writeOnly: false } }],
    ['password_hash/x-import-only', { password_hash: { 'x-import-only': false } }],
    ['password_hash/format', { password_hash: { format: 'uuid' } }],
    ['email/x-unique', { email: { 'x-unique': false } }],
    ['email/x-normalize', { email: { 'x-normalize': ['trim'] } }],
    ['email/x-normalize', { email: { 'x-normalize': [] } }],
    ['email/type', { email: { type: ['string', 'null'] } }],
    ['email/maxLength', { email: { maxLength: 2000 } }],
    ['email/x-import-only', { email: { 'x-import-only': true } }],
    ['email/writeOnly', { email: { writeOnly: true } }],
    ['email', { email: true }],
  ];
  const shared = { '_shared.json': { $defs: { d: { type: 'string', default: 'password1' } } } };
  const rejected = async (declaration: object, pointer: string) => {
    const folder = declare(t, { 'users.json': declaration, ...shared });
    const start = testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
    await t.rejects(start, new RegExp(`users\\.json#/${pointer}: `), JSON.stringify(declaration));
  };
  for (const [pointer, properties] of rows) await rejected({ properties }, `properties/${pointer}`);
  for (const name of ['password', 'current_password', 'password_hash']) {
    const properties = { [name]: { default: 'password1' } };
    await rejected({ allOf: [{ properties }] }, `allOf/0/properties/${name}/default`);
    const dependentSchemas = { name: { properties } };
    await rejected({ dependentSchemas }, `dependentSchemas/name/properties/${name}/default`);
  }
});
