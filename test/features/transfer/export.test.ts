import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { run } from '../../../src/cli/run.js';
import { FEATURES } from '../../../src/features.js';
import { COMMAND, plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { environment, until } from '../../support/process.js';
import { testService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';
import { some } from '../../support/thorough.js';

const own = ({ id, created_at, updated_at, _links, _version, ...fields }: Record<string, unknown>) => fields;

t.test('what is exported can be imported, in every format', async (t) => {
  const from = await testService(t);
  const env = { DATABASE_URL: from.databaseUrl };
  const ann = await from.send('POST', '/users', {
    body: { name: 'Änn "A"', email: 'ann@example.org', password: 'not to be exported' },
  });
  await from.send('POST', '/posts', {
    body: { userId: ann.json.id, text: 'a\\b\n"c",\td\u2028 \\\\', n: [1, { x: null }] },
  });
  for (let n = 0; n < 3; n++)
    await from.send('POST', '/items', {
      body: {
        name: `item ${n}`,
        price: n / 3,
        tags: ['a,b', `"${n}"`],
        note: n === 1 ? '=1+1\r\n' : undefined,
      },
    });
  const items = (await from.send('GET', '/items?order=asc')).json;
  const folder = folderOf(t);

  const whole = await plinth(t, ['export'], env);
  t.equal(whole.err, '');
  t.notMatch(whole.out, /password/);
  const parsed = JSON.parse(whole.out);
  t.same(Object.keys(parsed), ['users', 'items', 'posts']);
  t.same(parsed.items.map(own), items.map(own));
  t.match(parsed.items[0], { id: items[0].id, _version: 1 });

  const to = await testService(t);
  const file = join(folder, 'db.json');
  t.match(await plinth(t, ['export', '-o', file], env), { code: 0, out: '', err: '' });
  t.equal(readFileSync(file, 'utf8'), whole.out);
  t.match(await plinth(t, ['import', file], { DATABASE_URL: to.databaseUrl }), { code: 0, err: '' });
  const [post] = (await to.send('GET', '/posts')).json;
  t.same([post.text, post.n], ['a\\b\n"c",\td\u2028 \\\\', [1, { x: null }]]);
  t.equal(post.userId, (await to.send('GET', '/users')).json[0].id);

  for (const format of some(['ndjson', 'csv', 'json'], 1)) {
    const target = await testService(t);
    const out = join(folder, `items.${format}`);
    t.match(await plinth(t, ['export', 'items', '--format', format, '-o', out], env), { code: 0, err: '' });
    const { code, err } = await plinth(t, ['import', 'items', out], { DATABASE_URL: target.databaseUrl });
    t.same([code, err], [0, ''], format);
    const found = (await target.send('GET', '/items?order=asc')).json.map(own);
    t.same(found, items.map(own), format);
  }
  t.match(await plinth(t, ['export', 'users', '--format', 'csv'], env), {
    out: /^id,email,name,age,created_at,updated_at,_version\r\n[^\n]+,ann@example.org,"Änn ""A""",,/,
  });
});

t.test('an empty collection, and what cannot be exported', async (t) => {
  const { databaseUrl } = await testService(t);
  const env = { DATABASE_URL: databaseUrl };
  t.same(JSON.parse((await plinth(t, ['export'], env)).out), { users: [], items: [], posts: [] });
  t.equal((await plinth(t, ['export', 'items'], env)).out, '');
  t.equal((await plinth(t, ['export', 'items', '--format', 'json'], env)).out, '[]\n');
  t.match(await plinth(t, ['export', 'pets'], env), {
    code: 1,
    err: /no collection pets: there are users, items, posts/,
  });
  t.match(await plinth(t, ['export', '--format', 'csv'], env), {
    code: 64,
    err: /name one for another format/,
  });
  t.match(await plinth(t, ['export', 'items', '-o', '/nowhere/x'], env), {
    code: 73,
    err: /^plinth: \/nowhere\/x cannot be written: [^\n]+\n$/,
  });
});

t.test('the records are those of one moment', async (t) => {
  const { databaseUrl, send } = await testService(t);
  const folder = folderOf(t);
  // More than what the buffers of the pipe and of the connection to the database hold.
  const COUNT = 1000;
  const lines = Array.from(
    { length: COUNT },
    (_, n) => `{"name":"item ${n}","text":"${'x'.repeat(10_000)}"}\n`,
  );
  writeFileSync(join(folder, 'items.ndjson'), lines.join(''));
  const env = { DATABASE_URL: databaseUrl };
  await plinth(t, ['import', 'items', join(folder, 'items.ndjson')], env);
  const child = spawn(process.execPath, [COMMAND, 'export'], { env: environment(env) });
  const chunks = child.stdout.setEncoding('utf8').iterator();
  let text = '';
  // Records have been read, and the export waits for its reader while a record of a later collection appears.
  while (!text.includes('"item 0"')) {
    const { value, done } = await chunks.next();
    if (done) throw new Error(`the export has ended: ${text}`);
    text += value;
  }
  const ann = await send('POST', '/users', { body: { name: 'Ann', email: 'ann@example.org' } });
  await send('POST', '/posts', { body: { userId: ann.json.id } });
  for await (const chunk of chunks) text += chunk;
  const { users, items, posts } = JSON.parse(text);
  t.same([users.length, items.length, posts.length], [0, COUNT, 0]);

  await t.test('an output that fails ends the export and its connection', async (t) => {
    let bytes = 0;
    const stdout = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        bytes += chunk.length;
        done(bytes > 100_000 ? new Error('its reader is gone') : null);
      },
    });
    const stderr = new PassThrough();
    const io = { features: FEATURES, stdin: new PassThrough(), stdout, stderr, env: environment(env) };
    t.equal(await run(['export', 'items'], io), 1);
    t.equal(stderr.read(), null);
    const sql = sqlOf(t, databaseUrl);
    const others = () =>
      sql`select 1 from pg_stat_activity where datname = current_database() and application_name = 'plinth import'`;
    await until('the connection has ended', async () => (await others()).length === 0);
  });
});
