import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FEATURES } from '../../src/features.js';
import { startMessage } from '../../src/start/start-message.js';
import { plinth, plinthProcess, startPlinth } from '../support/command.js';
import { makeKey } from '../support/credentials.js';
import { migratedFolder } from '../support/migrated-folder.js';
import { isAlive, serverPid, until } from '../support/process.js';
import { send, testDatabase, testService } from '../support/service.js';
import { readSettings } from '../support/settings.js';
import t from '../support/test.js';

t.jobs = 3;

const ISSUER = { AUTH: 'bearer', AUTH_SERVER: 'on', PUBLIC_URL: 'http://localhost:1' };
const CLIENT = 'plinth clients create --name terminal --redirect http://127.0.0.1/callback';

t.test(
  'the start says what a new user needs to know, also about .env and misspelled variables',
  async (t) => {
    const url = new URL(await testDatabase(t));
    const folder = t.testdir({ '.env': 'PORT=0\nLOG_LEVEL=warn\n', collections: {} });
    const misspelled = { PROT: '4999', AUHT: 'none', PORTAL: 'x', TERM: 'x' };
    const env = { DATABASE_URL: String(url), WORKERS: '2', ...ISSUER, ...misspelled };
    const service = startPlinth(t, [], env, { cwd: folder });
    await service.ready();
    const { hostname, port } = new URL(await service.ready());
    const lines = service.stdout().split('\n');
    const logged = lines.filter((line) => line.startsWith('{'));
    t.same(
      logged.map((line) => (JSON.parse(line) as { msg: string }).msg),
      [
        'PROT is not a setting and is ignored: is PORT meant?',
        'AUHT is not a setting and is ignored: is AUTH meant?',
      ],
      'once for all workers',
    );
    const own = `http://${hostname}:${port}`;
    t.same(
      lines.filter((line) => !line.startsWith('{')),
      [
        `Plinth is ready on ${own}`,
        '  collections    users (./collections)',
        `  database       PostgreSQL on ${url.host}${url.pathname}`,
        '  access         credentials of bearer; each may do what its scopes permit',
        '  workers        2',
        '  settings       2 from .env',
        `  documentation  ${own}/docs, ${own}/openapi.json`,
        '  first user     plinth users create ann@example.org --name Ann --scopes admin',
        `  first client   ${CLIENT} --scopes openid,self,admin`,
        '  sign in        plinth login --client ID',
        '',
      ],
    );
    t.notMatch(service.stdout(), url.password);
    service.child.kill('SIGINT');
    t.equal(await service.ended, 0);
    t.match(service.stdout(), /Goodbye\.\n$/);
  },
);

t.test('DATA_DIR that another service uses: one line says what to do', async (t) => {
  const folder = await migratedFolder(t);
  const service = startPlinth(t, [], { DATA_DIR: folder, PORT: '0' });
  const url = await service.ready();
  const pid = serverPid(folder)!;
  const second = await plinthProcess(t, ['serve'], { DATA_DIR: folder, PORT: '0' });
  t.same([second.code, second.out], [69, '']);
  t.match(second.err, /^plinth: DATA_DIR is in use: [^\n]+; stop it, or set another DATA_DIR\n$/);

  await t.test('an import works beside the service', async (t) => {
    const file = join(t.testdir({ 'items.json': '{"items":[{"name":"lamp"}]}' }), 'items.json');
    const imported = await plinth(t, ['import', file], { DATA_DIR: folder });
    t.match(imported, { code: 0, out: 'items: 1 stored, 0 refused\n' });
    t.match((await send(url, 'GET', '/items')).json, { data: [{ name: 'lamp' }] });
  });
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  t.equal(service.stderr(), '');
  t.notOk(isAlive(pid), 'the server ends with its service');
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
  const { databaseUrl: DATABASE_URL, db } = await testService(t);
  const env = { DATABASE_URL };
  const config = readSettings({ ...env, ...ISSUER });
  const said = async () => {
    const message = await startMessage(FEATURES, config, { url: 'http://localhost:1', run: db.run }, [], 0);
    return ['first user', 'first client', 'sign in'].filter((name) => message.includes(`  ${name} `));
  };
  t.same(await said(), ['first user', 'first client', 'sign in']);
  const user = ['users', 'create', 'ann@example.org', '--name', 'Ann', '--password-stdin'];
  t.match(await plinth(t, user, env, { input: 'correct horse battery\n' }), { code: 0 });
  t.same(await said(), ['first client', 'sign in']);
  t.match(await plinth(t, CLIENT.split(' ').slice(1), env), { code: 0 });
  t.same(await said(), ['sign in']);
});
