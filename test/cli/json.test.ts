import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret, signWebhook } from '../../src/features/webhooks/sign.js';
import { valuesOf } from '../support/callers.js';
import { documentOf, plinth, startPlinth } from '../support/command.js';
import { until } from '../support/process.js';
import { send, testDatabase, testService } from '../support/service.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

t.jobs = 3;

t.test('keys, users, clients and issuer print documents', async (t) => {
  const { databaseUrl: DATABASE_URL } = await testService(t);
  const env = { DATABASE_URL };
  t.same(await documentOf(t, ['keys', 'list'], env), []);
  const options = ['--label', 'ci', '--subject', 'bob', '--scopes', 'items:read'];
  const made = await documentOf(t, ['keys', 'create', ...options], env);
  t.match(made, { id: /^[0-9a-f-]{36}$/, key: /^plinth_/ });
  const second = await documentOf(t, ['keys', 'create', ...options], env);
  t.match(await documentOf(t, ['keys', 'list'], env), [{ id: second.id }, { id: made.id, subject: 'bob' }]);
  t.same(await documentOf(t, ['keys', 'revoke', made.id], env), { id: made.id });

  const input = 'correct horse battery staple\n';
  const user = await documentOf(t, ['users', 'create', 'ann@example.org', '--name', 'Ann'], env, { input });
  t.same(await documentOf(t, ['users', 'set-password', 'ann@example.org'], env, { input }), user);
  const scoped = await documentOf(
    t,
    ['users', 'set-scopes', 'ann@example.org', '--scopes', 'items:read'],
    env,
  );
  t.same(scoped, { id: user.id, scopes: ['items:read'] });

  const client = ['clients', 'create', '--name', 'job', '--confidential', '--scopes', 'items:read'];
  const created = await documentOf(t, client, env);
  t.match(created, { id: /\S/, secret: /\S/ });
  t.match(await documentOf(t, ['clients', 'list'], env), [{ id: created.id, name: 'job' }]);
  t.match(await documentOf(t, ['clients', 'update', created.id, '--name', 'work'], env), { name: 'work' });
  t.same(await documentOf(t, ['clients', 'delete', created.id], env), { id: created.id });
  const keys = ['ES256', 'RS256'].map((alg) => ({ alg, id: /\S/ }));
  t.match(await documentOf(t, ['issuer', 'rotate-keys'], env), { keys });
});

t.test('import and export report what they moved', async (t) => {
  const { databaseUrl: DATABASE_URL } = await testService(t);
  const env = { DATABASE_URL };
  const folder = t.testdir({ 'items.json': '{"items": [{"name": "Lamp"}, {"name": 7}, {"price": 1}]}' });
  const { code, out, err } = await plinth(t, ['import', 'items.json', '--json'], env, { cwd: folder });
  t.same([code, err], [1, '']);
  const report = JSON.parse(out);
  const collections = [{ collection: 'items', stored: 1, refused: 2 }];
  t.match(report, { collections, refusals_omitted: 0, notes: [] });
  t.same(valuesOf(report.refusals, 'place'), ['items[1]/name', 'items[2]/name']);
  const file = join(folder, 'items.csv');
  const items = { collection: 'items', records: 1 };
  const written = await documentOf(t, ['export', 'items', '-o', file], env);
  t.same(written, { file, format: 'csv', collections: [items] });
  t.match(readFileSync(file, 'utf8'), /Lamp/);
  const all = await documentOf(t, ['export', '-o', join(folder, 'all.json')], env);
  t.match(all.collections, [{ collection: 'users', records: 0 }, items]);
  t.match(await plinth(t, ['export', '--json'], env), { code: 64, out: '', err: /"--json needs -o FILE/ });
});

t.test('collections and migrate describe declarations and steps', async (t) => {
  const folder = t.testdir();
  const env = { COLLECTIONS: '', DATABASE_URL: await testDatabase(t, true) };
  const inFolder = { cwd: folder };
  const fields = ['--fields', 'title:string!,pages:integer'];
  const books = { name: 'books', file: 'collections/books.json' };
  t.same(await documentOf(t, ['collections', 'new', 'books', ...fields], env, inFolder), books);
  const checked = await documentOf(t, ['collections', 'check'], env, inFolder);
  t.match(checked, [{ name: 'users' }, { ...books, fields: 2 }]);
  const plan = await documentOf(t, ['migrate', '--plan'], env, inFolder);
  t.match(plan, { drops: [], violations: [] });
  const creation = plan.steps.find(({ title }: { title: string }) => /books/.test(title));
  const sql = [/create table public_collections.books/];
  t.match(creation, { title: /\S/, sql, locks: /\S/, loses: null, concurrent: false });
  const { steps } = await documentOf(t, ['migrate'], env, inFolder);
  t.same(steps, plan.steps);
  t.same(await documentOf(t, ['migrate'], env, inFolder), { steps: [], not_done: [] });

  writeFileSync(join(folder, 'collections/books.json'), '{"type": "object", "properties": {"a": 1}}');
  const { code, out, err } = await plinth(t, ['collections', 'check', '--json'], env, inFolder);
  t.same([code, out], [78, '']);
  t.match(err, /^\{"error":\{"code":"CONFIGURATION","message":"collections\/books\.json#\/properties\/a: /);
});

t.test(
  'a new collection refers to others by name, after a slash also to one with the name of a type',
  async (t) => {
    const folder = t.testdir({
      collections: {
        'date.json': '{"type": "object", "properties": {"name": {"type": "string"}}}',
        'constructor.json': '{"type": "object", "properties": {"name": {"type": "string"}}}',
      },
    });
    const create = (name: string, fields: string) =>
      plinth(t, ['collections', 'new', name, '--fields', fields], { COLLECTIONS: '' }, { cwd: folder });
    const fields = 'on:date!,day:/date,days:/date[]!,by:constructor,user:users';
    t.match(await create('visits', fields), { code: 0 });
    const { required, properties } = JSON.parse(
      readFileSync(join(folder, 'collections/visits.json'), 'utf8'),
    );
    t.same(required, ['on', 'days']);
    const reference = (to: string) => ({ type: 'string', format: 'uuid', 'x-references': to });
    t.match(properties, {
      on: { type: 'string', format: 'date', 'x-index': true },
      day: reference('date'),
      days: { type: 'array', items: reference('date') },
      by: reference('constructor'),
      user: reference('users'),
    });
    for (const field of ['on:date[]', 'on:/', 'on://date', 'on:/Date'])
      t.match(await create('others', field), { code: 64, err: /a field must be FIELD:TYPE/ }, field);
  },
);

t.test('serve prints its address as a document', async (t) => {
  const env = { DATABASE_URL: await testDatabase(t), PORT: '0' };
  const service = startPlinth(t, ['serve', '--json'], env);
  await service.ready();
  service.child.kill('SIGINT');
  t.equal(await service.ended, 0);
  t.match(JSON.parse(service.stdout()), { url: /^http:\/\/127\.0\.0\.1:\d+$/, auth: [] });
});

t.test('webhooks listen prints a document for each message', async (t) => {
  const secret = newSecret();
  const options = ['webhooks', 'listen', '--port', '0', '--json'];
  const listener = startPlinth(t, options, { WEBHOOK_SECRET: secret });
  await listener.ready();
  const lines = () => listener.stdout().trim().split('\n');
  const { listening, service } = JSON.parse(lines()[0]!);
  t.equal(service, null);
  const timestamp = Math.floor(Date.now() / 1000);
  const body = '{"type":"items.created"}';
  const headers = signWebhook({ id: 'm', timestamp, target: '/', body }, [secret]);
  t.equal((await send(listening, 'POST', '/', { headers, body, type: 'application/json' })).status, 204);
  t.equal((await send(listening, 'POST', '/', { body: {} })).status, 400);
  await until('both are printed', () => lines().length === 3);
  const [first, second] = lines()
    .slice(1)
    .map((line) => JSON.parse(line));
  t.match(first, { verified: true, id: 'm', body });
  t.match(second, { verified: false, code: 'MISSING_HEADERS', body: '{}' });
  listener.child.kill('SIGINT');
  t.equal(await listener.ended, 0);
});

t.test('errors are documents with a code, on the standard error output', async (t) => {
  const away = { DATABASE_URL: 'postgres://127.0.0.1:1/none' };
  const secret = { WEBHOOK_SECRET: newSecret() };
  const rows: [string[], Record<string, string>, number, string][] = [
    [['keys'], {}, 64, 'USAGE'],
    [['keys', 'list'], away, 69, 'UNAVAILABLE'],
    [['migrate'], away, 69, 'UNAVAILABLE'],
    [['export', 'none', '-o', 'x'], {}, 1, 'FAILED'],
    [['serve'], { PORT: 'x' }, 78, 'CONFIGURATION'],
    [words('login --client x --service http://127.0.0.1:1'), {}, 69, 'UNAVAILABLE'],
    [['verify-webhook', '--header', 'a: b'], secret, 1, 'MISSING_HEADERS'],
  ];
  for (const [args, env, code, name] of rows) {
    const ended = await plinth(t, [...args, '--json'], env, { input: '' });
    t.same([ended.code, ended.out], [code, ''], args.join(' '));
    const document = JSON.parse(ended.err);
    t.match(document, { error: { code: name, message: /\S/ } });
    t.same(Object.keys(document), ['error']);
  }
});
