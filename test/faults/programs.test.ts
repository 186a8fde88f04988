import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folderOf } from '../support/folder.js';
import { BUNDLED, DIST, startProcess } from '../support/process.js';
import { testProxy } from '../support/proxy.js';
import { send } from '../support/service.js';
import t from '../support/test.js';
import { isThorough } from '../support/thorough.js';
import { until } from '../support/until.js';
import { TRANSPORTS, testPostgres } from './postgres.js';

/**
 * The faults of connections with TLS, for each form of the program and one or two processes. Continuous integration runs
 * this file by several versions of Node.
 */

t.jobs = 1;

/** The program in one file: the one of the run, or one made here. */
function bundle(): string {
  if (BUNDLED !== undefined) return BUNDLED;
  const folder = folderOf(t);
  const build = fileURLToPath(new URL('../../../.ci/bundle.js', import.meta.url));
  execFileSync(process.execPath, [build, folder]);
  return join(folder, 'start.cjs');
}

const PROGRAMS: Readonly<Record<string, string>> = { dist: DIST, bundle: bundle() };
const TRANSPORT = TRANSPORTS.at(-1)!;
const victim = await testPostgres(t, TRANSPORT);

/** In short runs each form once: one with one process, the other with two. */
const CASES = Object.entries(PROGRAMS).flatMap(([form, program], at) =>
  ['1', '2'].filter((_, count) => isThorough || at === count).map((WORKERS) => ({ form, program, WORKERS })),
);

for (const { form, program, WORKERS } of CASES)
  t.test(`${form}, WORKERS=${WORKERS}, ${TRANSPORT}: no fault ends a process`, async (t) => {
    const proxy = await testProxy(t, await victim.database());
    const env = { DATABASE_URL: proxy.url, DB_TIMEOUT_MS: '1000', WORKERS, LOG_LEVEL: 'error' };
    const service = startProcess(t, env, program);
    const url = await service.ready();
    const isRefused = () =>
      until('the database is missed', async () => (await send(url, 'GET', '/users?limit=1')).status, 503);
    const isBack = () =>
      until(
        'it is there again',
        async () => (await send(url, 'POST', '/items', { body: { name: 'Lamp' } })).status,
        201,
      );
    await isBack();
    victim.freeze();
    t.teardown(() => victim.thaw());
    await isRefused();
    victim.thaw();
    await isBack();
    proxy.reset();
    await isRefused();
    await proxy.restore();
    await isBack();
    victim.freeze();
    await isRefused();
    service.child.kill('SIGTERM');
    t.equal(await service.ended, 0);
    t.equal(service.stderr(), '', 'no process of it ended before');
  });
