import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimPort } from '../support/claimed-port.js';
import { doctor, faultsOf } from '../support/doctor.js';
import { dataFolder, startProcess } from '../support/process.js';
import { SERVER_URL, testDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';
import { missingRoot, run } from './programs.js';

const skip = missingRoot('pgbouncer');

/** Parameters that the service sets for its sessions, and that PgBouncer rejects unless they are listed here. */
const SETTINGS =
  'statement_timeout,lock_timeout,idle_in_transaction_session_timeout,tcp_user_timeout,tcp_keepalives_idle,tcp_keepalives_interval,tcp_keepalives_count,plan_cache_mode,enable_seqscan,max_parallel_workers_per_gather,jit,work_mem,plinth.tombstones,plinth.events';

/** PgBouncer in front of the test's PostgreSQL. Returns the URL of a database behind it. */
async function testPooler(t: Test, mode: string, ignored: string): Promise<string> {
  const folder = await dataFolder(t);
  chmodSync(folder, 0o755);
  const target = new URL(SERVER_URL);
  const port = await claimPort(t);
  const lines = [
    '[databases]',
    `* = host=${target.hostname} port=${target.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${folder}/users.txt`,
    `pool_mode = ${mode}`,
    `ignore_startup_parameters = ${ignored}`,
    '',
  ];
  writeFileSync(join(folder, 'users.txt'), `"${target.username}" "${target.password}"\n`);
  writeFileSync(join(folder, 'pgbouncer.ini'), lines.join('\n'));
  const pooler = run(t, ['pgbouncer', join(folder, 'pgbouncer.ini')], { user: 'postgres' });
  await until(
    'PgBouncer listens',
    () => pooler.output(),
    (seen) => /listening on/.test(seen),
  );
  const url = new URL(await testDatabase(t));
  url.port = String(port);
  return url.href;
}

for (const [mode, ignored] of [
  ['transaction', ''],
  ['transaction', SETTINGS],
  ['session', SETTINGS],
] as const)
  t.test(`behind PgBouncer (${mode}, ignored: ${ignored || 'nothing'})`, { skip }, async (t) => {
    const url = await testPooler(t, mode, ignored);
    const service = startProcess(t, { DATABASE_URL: url });
    t.equal(await service.ended, 69, 'the start ends');
    t.match(service.stderr(), /^plinth: DATABASE_URL leads to a pooler .*: connect to PostgreSQL itself/);
    t.equal(service.stderr().trim().split('\n').length, 1, 'with one line');
    const { checks } = await doctor(t, { DATABASE_URL: url });
    t.match(faultsOf(checks).join('\n'), /connect to PostgreSQL itself/);
  });
