import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { authority, withoutOpenssl } from '../../support/certificates.js';
import { claimPort } from '../../support/claimed-port.js';
import { COMMAND, plinth } from '../../support/command.js';
import { doctor, faultsOf } from '../../support/doctor.js';
import { dataFolder, serverPid } from '../../support/process.js';
import { testDatabase, testService } from '../../support/service.js';
import t from '../../support/test.js';

t.jobs = 3;

const PUBLIC = 'https://api.example.org';

t.test('proxies and public addresses that do not fit each other', async (t) => {
  const base = { DATABASE_URL: await testDatabase(t) };
  const rows: [env: Record<string, string>, message: RegExp][] = [
    [{ PROXY_HEADERS: 'forwarded' }, /warning: PROXY_HEADERS has no effect/],
    [{ TRUST_PROXY: '0.0.0.0/0' }, /problem: TRUST_PROXY has 0\.0\.0\.0\/0, which holds clients too/],
    [{ TRUST_PROXY: '10.0.0.1' }, /warning: HOST is 127\.0\.0\.1, which only proxies on this machine/],
    [{ PUBLIC_URL: PUBLIC }, /warning: PUBLIC_URL is https and this service has no TLS_CERT/],
    [{ HOST: '0.0.0.0', AUTH: 'api-key' }, /warning: clients send credentials to 0\.0\.0\.0 without TLS/],
  ];
  for (const [env, { source }] of rows) {
    const { checks } = await doctor(t, { ...base, ...env });
    t.match(faultsOf(checks), [new RegExp(`^proxies ${source}`)], JSON.stringify(env));
  }
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
  const line = own.checks.find(({ check }) => check === 'port');
  t.match(line, { status: 'ok', message: /a Plinth service listens on port/ });
});

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
    /^clock problem: the clock of ISSUER is 3\d{3}\.\d s ahead, more than 5 s: .*; synchronize the clocks/,
  ]);
  const away = await doctor(t, { ...base, ISSUER: `http://127.0.0.1:${await claimPort(t)}` });
  t.match(faultsOf(away.checks), [/^clock warning: ISSUER http:\S+ cannot be reached: .*ECONNREFUSED/]);
});

t.test('the disk, and an embedded database without starting a new one', async (t) => {
  const DATA_DIR = await dataFolder(t);
  const first = await doctor(t, { DATA_DIR });
  const message = /the first start creates an embedded database/;
  t.match(first.checks[2], { check: 'database', status: 'ok', message });
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
    /^files warning: a process may open \d+ files, and MAX_CONNECTIONS=1000000 needs 1000\d+: the start lowers it to \d+; raise/,
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

t.test('colours are for terminals', { skip: !hasScript && 'script is not installed' }, async (t) => {
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
});
