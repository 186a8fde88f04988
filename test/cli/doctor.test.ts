import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { freePort } from '../../src/process/listen.js';
import { authority, withoutOpenssl } from '../support/certificates.js';
import { COMMAND, plinth } from '../support/command.js';
import { dataFolder, serverPid } from '../support/process.js';
import { SERVER_URL, testDatabase, testService } from '../support/service.js';

t.jobs = 3;

interface Check {
  readonly check: string;
  readonly status: string;
  readonly message: string;
  readonly advice: string | null;
}

async function doctor(t: Test, env: Record<string, string>): Promise<{ code: unknown; checks: Check[] }> {
  const { code, out, err } = await plinth(t, ['doctor', '--json'], { PORT: '0', ...env });
  t.equal(err, '');
  const checks = JSON.parse(out) as Check[];
  t.ok(checks.every(({ status, advice }) => (status === 'ok') === (advice === null)));
  t.equal(code, checks.some(({ status }) => status === 'problem') ? 1 : 0, 'the exit code');
  return { code, checks };
}

const namesOf = (checks: readonly Check[]) => [...new Set(checks.map(({ check }) => check))];

/** Those that are not ok. */
const faultsOf = (checks: readonly Check[]) =>
  checks
    .filter(({ status }) => status !== 'ok')
    .map(({ check, status, message, advice }) => `${check} ${status}: ${message}; ${advice}`);

t.test('a service that is in order has no problem', async (t) => {
  const { databaseUrl: DATABASE_URL } = await testService(t);
  const { checks } = await doctor(t, { DATABASE_URL, MAX_CONNECTIONS: '100' });
  t.same(faultsOf(checks), []);
  t.same(namesOf(checks), [
    'settings',
    'declarations',
    'database',
    'permissions',
    'clock',
    'plan',
    'disk',
    'files',
    'proxies',
    'port',
    'tls',
  ]);
  const { code, out } = await plinth(t, ['doctor'], { DATABASE_URL, PORT: '0', MAX_CONNECTIONS: '100' });
  t.equal(code, 0);
  t.match(out, /^ok {7}settings {6}all settings are valid\n/);
  t.match(out, /^ok {7}plan {10}the tables match the declarations$/m);
  t.match(out, /\n0 problems, 0 warnings\n$/);
});

t.test('all faults of the settings are listed at once, with names that may be meant', async (t) => {
  const { checks } = await doctor(t, { PORT: '70000', AUTH: 'apikey', PROT: '1' });
  t.match(faultsOf(checks).sort(), [
    /^settings problem: AUTH must be /,
    /^settings problem: PORT must be an integer from 0 to 65535; it is `70000`; see docs\/configuration\.md$/,
    /^settings warning: PROT is not a setting and is ignored: is PORT meant\?; /,
  ]);
  t.same(namesOf(checks), ['settings']);
});

t.test('faults of declarations are listed, and the rest is checked', async (t) => {
  const folder = t.testdir({
    'a.json': '{',
    'b.json': '{"type": "object", "properties": {"x": {"x-index": 1}}}',
  });
  const { checks } = await doctor(t, { COLLECTIONS: folder, DATABASE_URL: await testDatabase(t) });
  t.match(faultsOf(checks), [/^declarations problem: .*a\.json: is not JSON/]);
  t.ok(namesOf(checks).includes('permissions'));
});

t.test('a database that cannot be used', async (t) => {
  const { checks } = await doctor(t, { DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/d' });
  t.match(faultsOf(checks), [
    /^database problem: the database cannot be reached: .*ECONNREFUSED.*; check DATABASE_URL/,
  ]);
  t.notMatch(JSON.stringify(checks), /secret/);
  const none = new URL(SERVER_URL);
  none.pathname = '/none';
  t.match(faultsOf((await doctor(t, { DATABASE_URL: String(none) })).checks), [
    /^database problem: database "none" does not exist/,
  ]);
});

t.test('a role without permissions', async (t) => {
  const url = await testDatabase(t);
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
  const role = `doctor_${process.pid}`;
  await sql.unsafe(`create role ${role} login password 'x'`);
  t.teardown(() => sql.unsafe(`drop role ${role}`));
  const limited = new URL(url);
  [limited.username, limited.password] = [role, 'x'];
  const { checks } = await doctor(t, { DATABASE_URL: String(limited) });
  t.match(faultsOf(checks).slice(0, 2), [
    new RegExp(
      `^permissions problem: the role ${role} may not create tables in the schema public; grant create`,
    ),
    /^permissions problem: tables belong to another role.*: .*items.*; alter table \S+ owner to/,
  ]);
});

t.test('a database that is read-only', async (t) => {
  const url = await testDatabase(t);
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
  await sql.end();
  const { checks } = await doctor(t, { DATABASE_URL: url });
  t.match(faultsOf(checks), [/^database problem: default_transaction_read_only is on; .*alter database/]);
});

t.test('tables that do not match, and records that violate a declaration', async (t) => {
  const [text, indexed] = ['{"type": "string"}', '{"type": "string", "x-index": true}'];
  const declare = (required: string, colour: string) =>
    `{"type": "object", "required": [${required}], "properties": {"colour": ${colour}}}`;
  const folder = t.testdir({ 'pens.json': declare('', text), 'inks.json': declare('', text) });
  const env = { DATABASE_URL: await testDatabase(t, true), COLLECTIONS: folder };
  const planOf = async (more: Record<string, string> = {}) => {
    const { checks } = await doctor(t, { ...env, ...more });
    return checks.filter(({ check }) => check === 'plan');
  };
  t.match(await planOf(), [{ status: 'ok', message: 'the first start creates all tables' }]);
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  t.match(await planOf(), [{ status: 'ok', message: 'the tables match the declarations' }]);

  writeFileSync(join(folder, 'pens.json'), declare('', indexed));
  t.match(await planOf(), [
    {
      status: 'problem',
      message: /^the tables do not match the declarations: \d+ steps are missing$/,
      advice: 'plinth migrate --plan, then plinth migrate',
    },
  ]);
  t.match(await planOf({ MIGRATE: 'auto' }), [{ status: 'ok', message: /^the next start takes \d+ steps/ }]);
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  rmSync(join(folder, 'inks.json'));
  t.match(await planOf(), [
    { status: 'warning', message: /^collections are no longer declared: 1 tables are left$/ },
  ]);

  const input = '{"other": 1}\n';
  t.equal((await plinth(t, ['import', 'pens', '-'], env, { input })).code, 0);
  writeFileSync(join(folder, 'pens.json'), declare('"colour"', indexed));
  t.match(await planOf(), [
    {
      status: 'problem',
      message: '1 of 1 records of pens violate the declaration',
      advice: /--allow-violations$/,
    },
  ]);
});

t.test('proxies and public addresses that do not fit each other', async (t) => {
  const base = { DATABASE_URL: await testDatabase(t) };
  const rows: [Record<string, string>, RegExp][] = [
    [{ PROXY_HEADERS: 'forwarded' }, /^proxies warning: PROXY_HEADERS has no effect/],
    [
      { TRUST_PROXY: '0.0.0.0/0' },
      /^proxies problem: TRUST_PROXY has 0\.0\.0\.0\/0, which holds clients too/,
    ],
    [
      { TRUST_PROXY: '10.0.0.1' },
      /^proxies warning: HOST is 127\.0\.0\.1, which only proxies on this machine/,
    ],
    [
      { PUBLIC_URL: 'https://api.example.org' },
      /^proxies warning: PUBLIC_URL is https and this service has no TLS_CERT/,
    ],
    [
      { HOST: '0.0.0.0', AUTH: 'api-key' },
      /^proxies warning: clients send credentials to 0\.0\.0\.0 without TLS/,
    ],
  ];
  for (const [env, message] of rows)
    t.match(faultsOf((await doctor(t, { ...base, ...env })).checks), [message], JSON.stringify(env));
  const fit = { TRUST_PROXY: '127.0.0.1', PUBLIC_URL: 'https://api.example.org' };
  t.same(faultsOf((await doctor(t, { ...base, ...fit })).checks), []);
});

t.test('a port that is in use, by another program or by Plinth', async (t) => {
  const base = { DATABASE_URL: await testDatabase(t) };
  const other = createServer((_req, res) => res.end());
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.teardown(() => other.close());
  const { port } = other.address() as { port: number };
  const { checks } = await doctor(t, { ...base, PORT: String(port) });
  t.match(faultsOf(checks), [
    /^port problem: port \d+ of 127\.0\.0\.1 is already in use.*; set PORT to a free port/,
  ]);
  const service = await testService(t);
  const own = await doctor(t, { ...base, PORT: new URL(service.url).port });
  t.match(
    own.checks.find(({ check }) => check === 'port'),
    { status: 'ok', message: /a Plinth service listens on port/ },
  );
});

const closedPort = () => freePort({ host: '127.0.0.1', port: 0, setting: 'PORT' });

t.test('the clock of the authorization server', async (t) => {
  const base = { DATABASE_URL: await testDatabase(t), AUTH: 'bearer', AUDIENCE: 'api' };
  const issuer = createServer((_req, res) => {
    res.sendDate = false;
    res.setHeader('Date', new Date(Date.now() + 3_600_000).toUTCString()).end();
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  t.teardown(() => issuer.close());
  const { port } = issuer.address() as { port: number };
  const ahead = await doctor(t, { ...base, ISSUER: `http://127.0.0.1:${port}` });
  t.match(faultsOf(ahead.checks), [
    /^clock problem: the clock of ISSUER is 3\d{3}\.\d s ahead, and JWT_SKEW is 5 s: .*; synchronize the clocks/,
  ]);
  const away = await doctor(t, { ...base, ISSUER: `http://127.0.0.1:${await closedPort()}` });
  t.match(faultsOf(away.checks), [/^clock warning: ISSUER http:\S+ cannot be reached: .*ECONNREFUSED/]);
});

t.test('the disk, and an embedded database without starting a new one', async (t) => {
  const DATA_DIR = await dataFolder(t);
  const first = await doctor(t, { DATA_DIR });
  t.match(first.checks[2], {
    check: 'database',
    status: 'ok',
    message: /the first start creates an embedded database/,
  });
  t.equal(serverPid(DATA_DIR), undefined);
  t.equal((await plinth(t, ['keys', 'list'], { DATA_DIR })).code, 0, 'creates it');
  const second = await doctor(t, { DATA_DIR });
  t.match(second.checks[2], { check: 'database', status: 'ok', message: /^PostgreSQL \d+/ });
  t.equal(serverPid(DATA_DIR), undefined, 'its server is stopped again');
  t.match(faultsOf((await doctor(t, { DATA_DIR: '/dev/null/data' })).checks), [
    /^disk problem: DATA_DIR \/dev\/null\/data cannot be written: .*; set DATA_DIR/,
  ]);
});

t.test('files of TLS', { skip: withoutOpenssl }, async (t) => {
  const ca = authority(t);
  const [one, other] = [ca.sign('one'), ca.sign('other')];
  const base = { DATABASE_URL: await testDatabase(t), TLS_CERT: one.certFile };
  const pair = await doctor(t, { ...base, TLS_KEY: one.keyFile, PUBLIC_URL: 'https://api.example.org' });
  t.match(faultsOf(pair.checks), [
    /^tls warning: TLS_CERT \(CN=one\) expires in [01] days, on .*; renew the certificate/,
    /^tls warning: TLS_CERT is not for api\.example\.org, the host of PUBLIC_URL; /,
  ]);
  t.match(faultsOf((await doctor(t, { ...base, TLS_KEY: other.keyFile })).checks), [
    /^tls problem: TLS_CERT \S+ and TLS_KEY \S+ cannot be used: .*; /,
  ]);
  t.match(faultsOf((await doctor(t, { ...base, TLS_KEY: '/nowhere.key' })).checks), [
    /^tls problem: TLS_KEY \/nowhere\.key cannot be read: /,
  ]);
});

t.test('a limit of open files that is too low', async (t) => {
  const { checks } = await doctor(t, { DATABASE_URL: await testDatabase(t), MAX_CONNECTIONS: '1000000' });
  t.match(faultsOf(checks), [
    /^files warning: a process may open \d+ files, and MAX_CONNECTIONS=1000000 needs 1000200; raise/,
  ]);
});

const hasScript = (() => {
  try {
    execFileSync('script', ['--version'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
})();

t.test(
  'colours are for terminals, and NO_COLOR is respected',
  { skip: !hasScript && 'script is not installed' },
  async (t) => {
    const env = { PATH: process.env.PATH, TERM: 'xterm', PORT: 'x' };
    const onTerminal = (more: Record<string, string>) => {
      const command = `'${process.execPath}' '${COMMAND}' doctor`;
      return execFileSync('script', ['-qc', command, '/dev/null'], {
        env: { ...env, ...more },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    };
    t.match(onTerminal({}), '\x1b[31mproblem');
    t.notMatch(onTerminal({ NO_COLOR: '1' }), '\x1b[');
    t.notMatch((await plinth(t, ['doctor'], { TERM: 'xterm', PORT: 'x' })).out, '\x1b[');
  },
);
