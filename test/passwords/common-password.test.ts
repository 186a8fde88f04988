import { hash, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../support/command.js';
import { folderOf } from '../support/folder.js';
import { freshService, testService } from '../support/service.js';
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
    ['Ada-1815-1852', 'personal'],
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

t.test('each service of a process has its own rules', async (t) => {
  const breached = 'a long known password';
  const folder = folderOf(t, { 'hashes.txt': `${hash('sha1', breached, 'hex').toUpperCase()}:1\n` });
  const [roof, plain, known] = [
    await freshService(t, { PASSWORD_WORDS: 'roof' }),
    await freshService(t, { PUBLIC_URL: 'https://tracker.example' }),
    await freshService(t, { BREACHED_PASSWORDS: join(folder, 'hashes.txt') }),
  ];
  const rows = [
    [roof, 'roof-2026-2026', breached],
    [plain, 'tracker-2026', 'roof-2026-2026'],
    [known, breached, 'tracker-2026'],
  ] as const;
  for (const [{ send }, refused, accepted] of rows)
    for (const [password, status] of [
      [refused, 400],
      [accepted, 201],
    ] as const) {
      const body = { email: `${randomUUID()}@example.org`, name: 'Bob', password };
      t.equal((await send('POST', '/users', { body })).status, status, password);
    }
});

t.test('commands and imports beside a service have the rules of their own settings', async (t) => {
  const { databaseUrl: DATABASE_URL } = await freshService(t);
  const record = { email: 'ada@example.org', name: 'Ada', password: 'roof-2026-2026' };
  const file = join(folderOf(t, { 'users.json': JSON.stringify([record]) }), 'users.json');
  const create = ['users', 'create', 'bob@example.org', '--name', 'Bob'];
  for (const [args, input] of [
    [create, 'roof-2026-2026\n'],
    [['import', 'users', file], ''],
  ] as const) {
    const env = { DATABASE_URL, PASSWORD_WORDS: 'roof' };
    const refused = await plinth(t, args, env, { input });
    t.equal(refused.code, 1);
    t.match(refused.err, 'must not be a word of this service');
    t.match(await plinth(t, args, { DATABASE_URL }, { input }), { code: 0 });
  }
});

t.test('words of the service, and passwords of breaches, are refused', async (t) => {
  const known = Array.from({ length: 1000 }, (_, at) => `known password ${at}`);
  const lines = known.map((each) => `${hash('sha1', each, 'hex').toUpperCase()}:${each.length}`).sort();
  const folder = folderOf(t, {
    'crlf.txt': `${lines.join('\r\n')}\r\n`,
    'lf.txt': lines.join('\n').toLowerCase(),
  });
  for (const [at, file] of ['crlf.txt', 'lf.txt'].entries()) {
    const { send } = await freshService(t, {
      PASSWORD_WORDS: 'Roof & Sons,Dach',
      PUBLIC_URL: 'https://api.tracker.example',
      BREACHED_PASSWORDS: join(folder, file),
    });
    const create = async (password: string) =>
      (
        await send('POST', '/users', {
          body: { email: `${randomUUID()}@example.org`, name: 'Bob', password },
        })
      ).json;
    for (const password of ['tracker-2026', '2026.SONS.1', 'dach12345'])
      t.match((await create(password)).errors, [{ path: '/password', keyword: 'service' }], password);
    for (const password of at === 0 ? known.slice(0, 100) : [known[0]!, known.at(-1)!])
      t.match((await create(password)).errors, [{ path: '/password', keyword: 'breached' }], password);
    for (const password of [
      'a roof over my head',
      'known password 1000',
      'zebra crossing lane',
      '0 of them'.repeat(2),
    ])
      t.match(await create(password), { id: /^/ }, password);
    rmSync(join(folder, file));
    t.match(await create('a roof over my head'), { error: { code: 'INTERNAL_ERROR' } }, 'not the database');
  }
  const empty = folderOf(t, { 'no.txt': 'password\n' });
  await t.rejects(
    freshService(t, { BREACHED_PASSWORDS: join(empty, 'no.txt') }),
    /BREACHED_PASSWORDS must be a file/,
  );
});
