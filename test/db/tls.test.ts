import { once } from 'node:events';
import net from 'node:net';
import { serversOf } from '../../src/database-url/servers.js';
import { withSession } from '../../src/db/session.js';
import { plainTextFault } from '../../src/features/doctor/role-faults.js';
import { failingConnections, SYSTEM } from '../faults/failing-connections.js';
import { fill } from '../faults/large-list.js';
import { testPostgres, type Victim, WITHOUT_CERTIFICATE, WITHOUT_TLS } from '../faults/postgres.js';
import { authority, withoutOpenssl } from '../support/certificates.js';
import { plinth, plinthProcess } from '../support/command.js';
import { doctor } from '../support/doctor.js';
import { testProxy } from '../support/proxy.js';
import { SERVER_URL, send, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

t.jobs = 1;

const PATIENT_MS = 60_000;
const options = { skip: withoutOpenssl };

let victim: Victim;
if (withoutOpenssl === false) victim = await testPostgres(t, 'TLS');

/** Whether the session of a URL has TLS; its error's code and message if it cannot be opened. */
async function sessionOf(url: string): Promise<boolean | string> {
  try {
    return await withSession(url, { settings: {}, connectMs: PATIENT_MS }, async (sql) => {
      const [row] = await sql<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
      return row!.ssl;
    });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return `${code} ${message}`;
  }
}

/** A URL with other values of some parameters; an empty one removes the parameter. */
function changed(url: string, values: Record<string, string>): string {
  const [start, query] = url.split('?');
  const parameters = new Map((query?.split('&') ?? []).map((pair) => pair.split('=') as [string, string]));
  for (const [name, value] of Object.entries(values))
    if (value === '') parameters.delete(name);
    else parameters.set(name, value);
  return `${start}?${[...parameters].map((pair) => pair.join('=')).join('&')}`;
}

t.test('each sslmode protects as in libpq, and none with TLS goes on without', options, async (t) => {
  const { url } = victim;
  const foreign = authority(t, 'foreign').certFile;
  const named = url.replace('@127.0.0.1', '@localhost');
  const rows: [url: string, expected: boolean | RegExp][] = [
    [url, true],
    [changed(url, { sslmode: 'verify-ca' }), true],
    [changed(url, { sslmode: 'require', sslrootcert: '' }), true],
    [changed(url, { sslmode: 'prefer', sslrootcert: '' }), true],
    [changed(url, { sslmode: '', sslrootcert: '' }), true],
    [changed(url, { sslmode: 'disable' }), /^28000 .*pg_hba/],
    [changed(url, { sslrootcert: foreign }), /^TLS_FAILED TLS to 127\.0\.0\.1:\d+: /],
    [changed(url, { sslmode: 'require', sslrootcert: foreign }), /^TLS_FAILED /],
    [changed(url, { sslrootcert: '' }), /^TLS_FAILED /],
    [named, /^TLS_FAILED .*altnames/],
    [changed(named, { sslmode: 'verify-ca' }), true],
    [changed(url, { sslrootcert: '/nowhere' }), /^TLS_FAILED .*ENOENT/],
    [changed(url, { sslcert: '', sslkey: '' }), /^(28000|TLS_FAILED|ECONNRESET) /],
    [changed(SERVER_URL, { sslmode: 'prefer' }), false],
    [changed(SERVER_URL, { sslmode: 'require' }), /^TLS_FAILED .*has no TLS, which sslmode=require requires/],
    [changed(SERVER_URL, { sslmode: 'verify-full' }), /^TLS_FAILED .*sslmode=verify-full/],
  ];
  for (const [each, expected] of rows) {
    const found = await sessionOf(each);
    if (typeof expected === 'boolean') t.equal(found, expected, each);
    else t.match(found, expected, each);
  }
});

/** A URL with another role, whose password is `x`. */
const asRole = (url: string, role: string) => url.replace(/\/\/[^@]*@/, `//${role}:x@`);

t.test('only disable opens a session that the server refuses with TLS', options, async (t) => {
  const create = [WITHOUT_TLS, WITHOUT_CERTIFICATE].map(
    (role) => `create role ${role} superuser login password 'x'`,
  );
  await withSession(victim.url, { settings: {}, connectMs: PATIENT_MS }, (sql) =>
    sql.unsafe(create.join(';')),
  );
  const unreadable = { sslcert: '/nowhere' };
  const [without, free] = [WITHOUT_TLS, WITHOUT_CERTIFICATE].map((role) => asRole(victim.url, role!));
  const rows: [url: string, values: Record<string, string>, expected: boolean | RegExp][] = [
    [without!, { sslmode: 'disable' }, false],
    [without!, { sslmode: 'prefer' }, /^28000 .*rejects/],
    [without!, { sslmode: 'require' }, /^28000 .*rejects/],
    [without!, { sslmode: 'verify-ca' }, /^28000 .*rejects/],
    [without!, { sslmode: 'verify-full' }, /^28000 .*rejects/],
    [without!, { sslmode: 'disable', ...unreadable }, false],
    [without!, { sslmode: 'prefer', ...unreadable }, /^TLS_FAILED /],
    [without!, { sslmode: 'require', ...unreadable }, /^TLS_FAILED /],
    [without!, { sslmode: 'verify-full', ...unreadable }, /^TLS_FAILED /],
    [free!, { sslmode: 'disable' }, /^28000 .*no encryption$/],
    [free!, { sslmode: 'prefer' }, true],
    [free!, { sslmode: 'prefer', ...unreadable }, /^TLS_FAILED TLS to /],
    [free!.replace(':x@', ':y@'), { sslmode: 'prefer' }, /^28P01 .*password/],
  ];
  for (const [url, values, expected] of rows) {
    const found = await sessionOf(changed(url, values));
    const name = `${url === free ? 'TLS' : 'plain text'} ${JSON.stringify(values)}`;
    if (typeof expected === 'boolean') t.equal(found, expected, name);
    else t.match(found, expected, name);
  }
  const { pathname } = new URL(await victim.database());
  const url = changed(without!.replace('/postgres?', `${pathname}?`), { sslmode: 'disable' });
  const service = await testService(t, { DATABASE_URL: url });
  t.equal((await service.send('POST', '/items', { body: { name: 'Lamp' } })).status, 201);
  t.equal((await service.send('GET', '/items?sort=name')).json.length, 1);
  const { checks } = await doctor(t, { DATABASE_URL: url });
  t.match(checks.find(({ check }: { check: string }) => check === 'database')?.message, /without TLS/);
});

/** Of the message that requests TLS. */
const LENGTH_OF_REQUEST = 8;

t.test('after a handshake that fails nothing is sent in plain text', async (t) => {
  for (const mode of ['prefer', 'require']) {
    const first: string[] = [];
    const url = await fakeServer(t, (socket) =>
      socket.once('data', (message) => {
        const isRequest = message.length === LENGTH_OF_REQUEST;
        first.push(isRequest ? 'TLS' : 'login');
        if (!isRequest) return void socket.resetAndDestroy();
        socket.once('data', () => socket.resetAndDestroy());
        socket.write('S');
      }),
    );
    t.match(await sessionOf(`${url}?sslmode=${mode}`), /^(ECONNRESET|CONNECTION_CLOSED|TLS_FAILED) /);
    t.strictSame(first, ['TLS'], mode);
  }
});

t.test('plain text to another machine is reported unless the operator chose it', (t) => {
  const rows: [isLocal: boolean, isEncrypted: boolean, url: string | undefined, expected: boolean][] = [
    [false, false, 'postgres://h/d', true],
    [false, false, 'postgres://h/d?sslmode=prefer', true],
    [false, false, 'postgres://h/d?sslmode=disable', false],
    [false, false, undefined, false],
    [false, true, 'postgres://h/d', false],
    [true, false, 'postgres://h/d', false],
  ];
  for (const [isLocal, isEncrypted, url, expected] of rows)
    t.equal(
      plainTextFault({ isLocal, isEncrypted }, url) !== undefined,
      expected,
      `${isLocal} ${isEncrypted} ${url}`,
    );
  t.end();
});

/** A server of one behaviour. */
async function fakeServer(t: Test, onConnection: (socket: net.Socket) => void): Promise<string> {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `postgres://u@127.0.0.1:${(server.address() as net.AddressInfo).port}/d`;
}

t.test('a server that says something else than whether it has TLS gets no login', async (t) => {
  for (const response of ['Sx', 'Nx', 'E', 'HTTP/1.1 400 Bad Request\r\n\r\n'])
    for (const mode of ['prefer', 'require']) {
      let received = '';
      const url = await fakeServer(t, (socket) =>
        socket.on('data', (more) => {
          received += more.toString('latin1');
          socket.write(response);
        }),
      );
      t.match(await sessionOf(`${url}?sslmode=${mode}`), /^TLS_FAILED .*does not respond as a PostgreSQL/);
      t.equal(received.length, 8, 'only the request for TLS was sent');
    }
});

t.test('a reset at any moment of opening a connection is an error of that connection', async (t) => {
  const moments: Record<string, (socket: net.Socket) => void> = {
    'when it is accepted': (socket) => void socket.resetAndDestroy(),
    'after the request for TLS': (socket) => void socket.once('data', () => socket.resetAndDestroy()),
    'within the handshake': (socket) =>
      void socket.once('data', () => {
        socket.once('data', () => socket.resetAndDestroy());
        socket.write('S');
      }),
    'without TLS, within the login': (socket) =>
      void socket.once('data', () => {
        socket.once('data', () => socket.resetAndDestroy());
        socket.write('N');
      }),
  };
  for (const [moment, onConnection] of Object.entries(moments)) {
    // With `prefer`, a handshake that fails is followed by plain text.
    const mode = moment === 'within the handshake' ? 'require' : 'prefer';
    const url = `${await fakeServer(t, onConnection)}?sslmode=${mode}`;
    t.match(await sessionOf(url), /^(ECONNRESET|CONNECTION_CLOSED|TLS_FAILED) /, moment);
  }
});

t.test('a connection for which the system has no resources is an error of that connection', async (t) => {
  const fail = failingConnections(t, serversOf(SERVER_URL).servers[0].port);
  for (const [code, errno] of Object.entries(SYSTEM)) {
    fail(errno);
    t.match(await sessionOf(SERVER_URL), new RegExp(`^${code} `));
  }
});

const isBack = async (url: string) => {
  const create = async () => (await send(url, 'POST', '/items', { body: { name: 'Lamp' } })).status;
  await until('it is there again', create, 201);
};

t.test('a list that its reader abandons frees its connection', options, async (t) => {
  const settings = { DATABASE_URL: await victim.database(), DB_TIMEOUT_MS: '1000' };
  const service = await testService(t, settings, { dbStreams: 1 });
  await fill(service.url, 20);
  const { port } = new URL(service.url);
  const reader = net.connect(Number(port), '127.0.0.1');
  reader.write('GET /items?sort=created_at HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(reader, 'data');
  reader.pause();
  reader.destroy();
  const next = () => service.send('GET', '/items?sort=created_at');
  const whole = await until('the next list is served', next, ({ status }) => status === 200);
  t.equal(whole.json.length, 20);
});

t.test('the feed is listened to over TLS, also after its connection was lost', options, async (t) => {
  const proxy = await testProxy(t, await victim.database());
  const first = await testService(t, { DATABASE_URL: proxy.url });
  const create = async () =>
    (await first.send('POST', '/items', { body: { name: 'Lamp' } })).json.id as string;
  const after = (await first.send('GET', '/events')).json.links?.next ?? '/events';
  t.ok(after);
  proxy.cut();
  await proxy.restore();
  await isBack(first.url);
  const id = await create();
  await until('the event is there', async () => (await first.send('GET', '/events')).text.includes(id));
});

t.test('commands work over TLS', options, async (t) => {
  const env = { DATABASE_URL: await victim.database() };
  t.match(await plinth(t, ['migrate'], env), { code: 0, err: '' });
  t.match(await plinth(t, ['migrate', '--plan'], env), { code: 0, err: '' });
  const input = '{"items": [{"name": "Lamp"}]}';
  t.match(await plinth(t, ['import', '-'], env, { input }), { code: 0, err: '' });
  t.match(await plinth(t, ['export', 'items'], env), { code: 0, out: /Lamp/ });
  const made = await plinth(
    t,
    ['keys', 'create', '--label', 'a', '--subject', 'a', '--scopes', 'admin'],
    env,
  );
  t.equal(made.code, 0, made.err);
  const { checks } = (await doctor(t, env)) as { checks: { check: string; status: string }[] };
  for (const { check, status } of checks)
    if (['database', 'permissions', 'plan'].includes(check)) t.not(status, 'problem', check);
  const DATABASE_URL = changed(env.DATABASE_URL, { sslrootcert: authority(t, 'foreign').certFile });
  const wrong = await plinthProcess(t, ['migrate'], { DATABASE_URL });
  t.match(wrong, { code: 69, err: /TLS to 127\.0\.0\.1:\d+: .*certificate/ });
});
