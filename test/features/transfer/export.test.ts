import { spawn } from 'node:child_process';
import { PassThrough, Writable } from 'node:stream';
import { run } from '../../../src/cli/run.js';
import { FEATURES } from '../../../src/features.js';
import { COMMAND } from '../../support/command.js';
import { environment, until } from '../../support/process.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { importing } from './imports.js';

const own = ({ id, created_at, updated_at, _links, _version, ...fields }: Record<string, unknown>) => fields;

t.test('what is exported can be imported, in every format', async (t) => {
  const from = await importing(t);
  const { run } = from;
  const user = { name: 'Änn "A"', email: 'ann@example.org', password: 'not to be exported' };
  const ann = await from.send('POST', '/users', { body: user });
  const text = 'a\\b\n"c",\td\u2028 \\\\';
  await from.send('POST', '/posts', { body: { userId: ann.json.id, text, n: [1, { x: null }] } });
  for (let n = 0; n < 3; n++) {
    const note = n === 1 ? '=1+1\r\n' : undefined;
    await from.send('POST', '/items', {
      body: { name: `item ${n}`, price: n / 3, tags: ['a,b', `"${n}"`], note },
    });
  }
  const items = (await from.send('GET', '/items?order=asc')).json;
  const whole = await run('export');
  t.equal(whole.err, '');
  t.notMatch(whole.out, /password/);
  const parsed = JSON.parse(whole.out);
  t.same(Object.keys(parsed), ['users', 'items', 'posts']);
  t.same(parsed.items.map(own), items.map(own));
  t.match(parsed.items[0], { id: items[0].id, _version: 1 });

  const to = await importing(t);
  t.match(await run('export', '-o', 'db.json'), { code: 0, out: '', err: '' });
  t.equal(from.read('db.json'), whole.out);
  t.match(await to.load([to.put('db.json', whole.out)]), { code: 0, err: '' });
  const [post] = await to.all('/posts');
  t.same([post.text, post.n], [text, [1, { x: null }]]);
  t.equal(post.userId, (await to.all('/users'))[0].id);

  for (const format of some(['ndjson', 'csv', 'json'], 1)) {
    const target = await importing(t);
    const out = `items.${format}`;
    t.match(await run('export', 'items', '--format', format, '-o', out), { code: 0, err: '' });
    const { code, err } = await target.load(['items', target.put(out, from.read(out))]);
    t.same([code, err], [0, ''], format);
    t.same((await target.all('/items?order=asc')).map(own), items.map(own), format);
  }
  t.match(await run('export', 'users', '--format', 'csv'), {
    out: /^id,email,name,age,created_at,updated_at,_version\r\n[^\n]+,ann@example.org,"Änn ""A""",,/,
  });
});

t.test('an empty collection, and what cannot be exported', async (t) => {
  const { run } = await importing(t);
  t.same(JSON.parse((await run('export')).out), { users: [], items: [], posts: [] });
  t.equal((await run('export', 'items')).out, '');
  t.equal((await run('export', 'items', '--format', 'json')).out, '[]\n');
  for (const [args, code, err] of [
    [['pets'], 1, /no collection pets: there are users, items, posts/],
    [['--format', 'csv'], 64, /name one for another format/],
    [['items', '-o', '/nowhere/x'], 73, /^plinth: \/nowhere\/x cannot be written: [^\n]+\n$/],
  ] as const)
    t.match(await run('export', ...args), { code, err });
});

t.test('the records are those of one moment', async (t) => {
  const { databaseUrl, send, put, load, env } = await importing(t);
  // More than what the buffers of the pipe and of the connection to the database hold.
  const COUNT = 1000;
  const records = Array.from({ length: COUNT }, (_, n) => ({ name: `item ${n}`, text: 'x'.repeat(10_000) }));
  await load(['items', put('items.ndjson', records)]);
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
