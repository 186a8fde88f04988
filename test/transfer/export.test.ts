import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { ENGINE } from '../support/citus.js';
import { testService } from '../support/service.js';

const COMMAND = fileURLToPath(new URL('../../src/cli/plinth.js', import.meta.url));

function plinth(args: readonly string[], env: Record<string, string>) {
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    const child = spawn(process.execPath, [COMMAND, ...args], {
      env: { PATH: process.env.PATH, ...ENGINE, ...env },
    });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-export-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

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

  const whole = await plinth(['export'], env);
  t.equal(whole.err, '');
  t.notMatch(whole.out, /password/);
  const parsed = JSON.parse(whole.out);
  t.same(Object.keys(parsed), ['users', 'items', 'posts']);
  t.same(parsed.items.map(own), items.map(own));
  t.match(parsed.items[0], { id: items[0].id, _version: 1 });

  const to = await testService(t);
  const file = join(folder, 'db.json');
  t.match(await plinth(['export', '-o', file], env), { code: 0, out: '', err: '' });
  t.equal(readFileSync(file, 'utf8'), whole.out);
  t.match(await plinth(['import', file], { DATABASE_URL: to.databaseUrl }), { code: 0, err: '' });
  const [post] = (await to.send('GET', '/posts')).json;
  t.same([post.text, post.n], ['a\\b\n"c",\td\u2028 \\\\', [1, { x: null }]]);
  t.equal(post.userId, (await to.send('GET', '/users')).json[0].id);

  for (const format of ['ndjson', 'csv', 'json']) {
    const target = await testService(t);
    const out = join(folder, `items.${format}`);
    t.match(await plinth(['export', 'items', '--format', format, '-o', out], env), { code: 0, err: '' });
    const { code, err } = await plinth(['import', 'items', out], { DATABASE_URL: target.databaseUrl });
    t.same([code, err], [0, ''], format);
    const found = (await target.send('GET', '/items?order=asc')).json.map(own);
    // A cell has no type unless the field is declared.
    const expected =
      format === 'csv'
        ? items.map((item: { tags: unknown }) => ({ ...item, tags: JSON.stringify(item.tags) }))
        : items;
    t.same(found, expected.map(own), format);
  }
  t.match(await plinth(['export', 'users', '--format', 'csv'], env), {
    out: /^id,email,name,age,created_at,updated_at,_version\r\n[^\n]+,ann@example.org,"Änn ""A""",,/,
  });
});

t.test('an empty collection, and what cannot be exported', async (t) => {
  const { databaseUrl } = await testService(t);
  const env = { DATABASE_URL: databaseUrl };
  t.same(JSON.parse((await plinth(['export'], env)).out), { users: [], items: [], posts: [] });
  t.equal((await plinth(['export', 'items'], env)).out, '');
  t.equal((await plinth(['export', 'items', '--format', 'json'], env)).out, '[]\n');
  t.match(await plinth(['export', 'pets'], env), {
    code: 1,
    err: /no collection pets: there are users, items, posts/,
  });
  t.match(await plinth(['export', '--format', 'csv'], env), { code: 64, err: /name one for another format/ });
  t.match(await plinth(['export', 'items', '-o', '/nowhere/x'], env), {
    code: 73,
    err: /^plinth: \/nowhere\/x cannot be written: [^\n]+\n$/,
  });
});

t.test('the records are those of one moment', async (t) => {
  const { databaseUrl, send } = await testService(t);
  const folder = folderOf(t);
  const lines = Array.from(
    { length: 20_000 },
    (_, n) => `{"name":"item ${n}","text":"${'x'.repeat(500)}"}\n`,
  );
  writeFileSync(join(folder, 'items.ndjson'), lines.join(''));
  const env = { DATABASE_URL: databaseUrl };
  await plinth(['import', 'items', join(folder, 'items.ndjson')], env);
  const child = spawn(process.execPath, [COMMAND, 'export'], { env: { PATH: process.env.PATH, ...env } });
  let text = '';
  child.stdout.setEncoding('utf8');
  // It has begun, and waits for its reader while a record of a later collection appears.
  await new Promise((resolve) => child.stdout.once('readable', resolve));
  const ann = await send('POST', '/users', { body: { name: 'Ann', email: 'ann@example.org' } });
  await send('POST', '/posts', { body: { userId: ann.json.id } });
  for await (const chunk of child.stdout) text += chunk;
  const { users, items, posts } = JSON.parse(text);
  t.same([users.length, items.length, posts.length], [0, 20_000, 0]);
});
