import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { authority, withoutOpenssl } from '../support/certificates.js';
import { plinth, plinthProcess, startPlinth } from '../support/command.js';
import { makeKey } from '../support/credentials.js';
import { migratedFolder } from '../support/migrated-folder.js';
import { until } from '../support/process.js';
import { send, testDatabase, testService } from '../support/service.js';
import { openSql, sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { some, times } from '../support/thorough.js';

t.jobs = 3;

t.test('the start says what a new user needs to know, also about .env', async (t) => {
  const url = new URL(await testDatabase(t));
  const folder = t.testdir({ '.env': 'PORT=0\nLOG_LEVEL=warn\n', collections: {} });
  const service = startPlinth(t, [], { DATABASE_URL: String(url) }, { cwd: folder });
  await service.ready();
  const database = url.pathname.slice(1);
  t.match(
    service.stdout(),
    new RegExp(
      `^Plinth is ready on http://127\\.0\\.0\\.1:\\d+\\n` +
        ` {2}collections +users \\(\\./collections\\)\\n` +
        ` {2}database +PostgreSQL on ${url.host}/${database}\\n` +
        ` {2}access +AUTH=none: every client may read and write everything; hosts: localhost\\n` +
        ` {2}settings +2 from \\.env\\n` +
        ` {2}documentation +http://127\\.0\\.0\\.1:\\d+/docs, http://127\\.0\\.0\\.1:\\d+/openapi\\.json\\n$`,
    ),
  );
  t.notMatch(service.stdout(), url.password);
  service.child.kill('SIGINT');
  t.equal(await service.ended, 0);
  t.match(service.stdout(), /Goodbye\.\n$/);
});

t.test('a misspelled variable is named with the one that may be meant', async (t) => {
  const env = { PROT: '4999', AUHT: 'none', PORT: '0', PORTAL: 'x', TERM: 'x' };
  const service = startPlinth(t, [], { DATABASE_URL: await testDatabase(t), ...env });
  await service.ready();
  const logged = service
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const warnings = logged.map((line) => (JSON.parse(line) as { msg: string }).msg);
  t.same(warnings, [
    'PROT is not a setting and is ignored: is PORT meant?',
    'AUHT is not a setting and is ignored: is AUTH meant?',
  ]);
  service.child.kill('SIGTERM');
  await service.ended;
});

t.test('an invalid setting is shown', async (t) => {
  const port = await plinth(t, ['serve'], { PORT: 'abc' });
  t.match(port, { code: 78, err: /^plinth: PORT must be an integer from 0 to 65535; it is `abc`\n$/ });
  const env = { AUTH: 'none', BASIC_SCOPES: 'item:read', DATABASE_URL: await testDatabase(t) };
  const { code, err } = await plinthProcess(t, ['serve'], env);
  t.equal(code, 78);
  t.match(err, /^plinth: BASIC_SCOPES: `item:read` is not a scope: there are users:read, .*\n$/);
});

t.test('a rejected login is called that, and a database that does not exist too', async (t) => {
  const url = new URL(await testDatabase(t));
  const none = new URL(url);
  none.pathname = '/none';
  const absent = await plinthProcess(t, ['serve'], { DATABASE_URL: String(none), PORT: '0' });
  t.equal(absent.code, 69);
  t.equal(absent.err, 'plinth: database "none" does not exist: create it, or correct DATABASE_URL\n');
  const sql = sqlOf(t, String(url));
  await sql.unsafe(`create role nologin_${process.pid}`);
  t.teardown(() => sql.unsafe(`drop role nologin_${process.pid}`));
  const stranger = new URL(url);
  stranger.username = `nologin_${process.pid}`;
  const rejected = await plinthProcess(t, ['serve'], { DATABASE_URL: String(stranger), PORT: '0' });
  t.match(rejected, { code: 69, err: /^plinth: the database rejects the login: [^\n]+ in DATABASE_URL\n$/ });
});

t.test('a collection without its trigger stops the start with what is missing', async (t) => {
  const url = await testDatabase(t);
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  const [trigger] = await sql`
    select tgname from pg_trigger where tgrelid = 'items'::regclass and not tgisinternal order by tgname limit 1`;
  await sql.unsafe(`drop trigger ${trigger!.tgname} on items`);
  await sql.end();
  const { code, err } = await plinthProcess(t, ['serve'], { DATABASE_URL: url, PORT: '0', MIGRATE: 'check' });
  t.equal(code, 78);
  t.match(err, /items/);
  t.match(err, /trigger|attach_collection/);
});

t.test('DATA_DIR: one line says what to do', async (t) => {
  for (const DATA_DIR of ['/proc/plinth', '/dev/null/data']) {
    const { code, out, err } = await plinthProcess(t, ['serve'], { DATA_DIR, PORT: '0' });
    t.same([code, out], [69, ''], DATA_DIR);
    t.match(err, /^plinth: DATA_DIR \S+ cannot be written: [^\n]+; set DATA_DIR to a folder [^\n]+\n$/);
  }
  const folder = await migratedFolder(t);
  const service = startPlinth(t, [], { DATA_DIR: folder, PORT: '0' });
  const url = await service.ready();
  const second = await plinthProcess(t, ['serve'], { DATA_DIR: folder, PORT: '0' });
  t.equal(second.code, 69);
  t.match(second.err, /^plinth: DATA_DIR is in use: [^\n]+; stop it, or set another DATA_DIR\n$/);

  await t.test('an import works beside the service', async (t) => {
    const file = join(t.testdir({ 'items.json': '{"items":[{"name":"lamp"}]}' }), 'items.json');
    const imported = await plinth(t, ['import', file], { DATA_DIR: folder });
    t.match(imported, { code: 0, out: 'items: 1 stored, 0 refused\n' });
    t.match((await send(url, 'GET', '/items')).json, { data: [{ name: 'lamp' }] });
  });
  service.child.kill('SIGTERM');
  await service.ended;
});

t.test('HTTP without TLS on the port for TLS is a 400 that says so', { skip: withoutOpenssl }, async (t) => {
  const pair = authority(t).sign('server');
  const service = await testService(t, { TLS_CERT: pair.certFile, TLS_KEY: pair.keyFile });
  const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /users HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const response = await text(socket);
  t.match(response, /^HTTP\/1\.1 400 Bad Request\r\n/);
  t.match(response, /"This port speaks HTTPS: the address begins with https:\/\/\."/);
});

t.test('plinth webhooks listen subscribes, verifies, prints and unsubscribes', async (t) => {
  const env = { AUTH: 'api-key', INSECURE: 'webhooks', WEBHOOK_ALLOW: '127.0.0.1' };
  const service = await testService(t, env);
  const { key } = await makeKey(service.db);
  const file = join(t.testdir({ key }), 'key');
  chmodSync(file, 0o600);
  const options = ['--port', '0', '--service', service.url, '--types', 'items.created', '--key-file', file];
  const listener = startPlinth(t, ['webhooks', 'listen', ...options]);
  await listener.ready();
  const headers = { 'x-api-key': key };
  t.equal((await service.send('POST', '/items', { headers, body: { name: 'lamp' } })).status, 201);
  const line = await until('it prints the event', () => /^verified .*$/m.exec(listener.stdout())?.[0]);
  t.match(line, /^verified \S+ \{.*"type":"items\.created".*"name":"lamp"/);
  const url = /Listening on (\S+),/.exec(listener.stdout())![1]!;
  const forged = await send(url, 'POST', '/', { body: { type: 'forged' } });
  t.equal(forged.status, 400);
  await until('it says so', () => /^REJECTED MISSING_HEADERS/m.test(listener.stdout()));
  listener.child.kill('SIGINT');
  t.equal(await listener.ended, 0);
  t.same((await service.send('GET', '/webhooks', { headers })).json.data, []);

  const strict = await testService(t);
  writeFileSync(file, 'unused');
  const { code, err } = await plinth(t, ['webhooks', 'listen', '--port', '0', '--service', strict.url], {});
  t.equal(code, 1);
  t.match(err, /\/url must be an https URL; INSECURE=webhooks allows http/);
});

t.test('the start suggests a first user and a first client until there is one', async (t) => {
  const issuer = { AUTH: 'bearer', AUTH_SERVER: 'on', PUBLIC_URL: 'http://localhost:1' };
  const env = { DATABASE_URL: await testDatabase(t), PORT: '0', ...issuer };
  const said = async (workers: string) => {
    const service = startPlinth(t, [], { ...env, WORKERS: workers });
    await service.ready();
    await until('the message is whole', () => service.stdout().includes('  sign in '));
    service.child.kill('SIGTERM');
    await service.ended;
    const names = ['first user', 'first client', 'sign in'];
    return names.filter((name) => service.stdout().includes(`  ${name} `));
  };
  t.same(await said('1'), ['first user', 'first client', 'sign in']);
  const user = ['users', 'create', 'ann@example.org', '--name', 'Ann', '--password-stdin'];
  const client = ['clients', 'create', '--name', 'a', '--redirect', 'http://127.0.0.1/callback'];
  const steps = [
    { name: 'first user', args: user, input: 'correct horse battery\n' },
    { name: 'first client', args: client, input: '' },
  ];
  // The first of the two is one that the seed draws.
  const ordered = some(steps, 1).concat(steps.filter((each) => !some(steps, 1).includes(each)));
  const left = new Set(steps.map(({ name }) => name));
  for (const { name, args, input } of ordered.slice(0, times(1, 2))) {
    t.match(await plinth(t, args, env, { input }), { code: 0 });
    left.delete(name);
    t.same(await said(left.size === 0 ? '1' : '2'), [...left, 'sign in']);
  }
});
