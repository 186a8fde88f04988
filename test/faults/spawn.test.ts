import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migratedFolder } from '../support/migrated-folder.js';
import { dataFolder, isAlive, processOf, startProcess } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { until, untilAtLeast } from '../support/until.js';

t.jobs = 2;

const OTHERS = [
  ['EMFILE', -24],
  ['EAGAIN', -11],
] as const;
/**
 * Libuv's codes, as on Linux: no memory, for which alone Node throws, no descriptor, and no process. Short runs have one of the
 * last two.
 */
const ERRORS = [['ENOMEM', -12], ...some(OTHERS, 1)] as const;

/** Node has no public interface that injects an error of the system. */
const INJECTION = fileURLToPath(new URL('../../../test/support/failed-spawns.cjs', import.meta.url));

/** Settings of a process for which the system starts others only while the code is 0. */
async function failingSpawns(t: Test, first: number) {
  const file = join(await dataFolder(t), 'code');
  const set = (code: number) => writeFileSync(file, String(code));
  set(first);
  return { set, env: { NODE_OPTIONS: `--require ${INJECTION}`, PLINTH_TEST_SPAWN_ERROR: file } };
}

/** How many processes respond: each has its own beginning of the ids of requests. */
async function processesAt(url: string): Promise<number> {
  const responses = await Promise.all(Array.from({ length: 8 }, () => send(url, 'GET', '/healthz')));
  return new Set(responses.map(processOf)).size;
}

t.test('a worker for which the system has no resources is started later', async (t) => {
  const { set, env } = await failingSpawns(t, 0);
  const service = startProcess(t, { ...env, DATABASE_URL: await testDatabase(t), WORKERS: '2' });
  const url = await service.ready();
  const { pid } = service.child;
  const workers = () =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number).filter(isAlive);
  for (const [code, errno] of ERRORS) {
    set(errno);
    process.kill(workers()[0]!, 'SIGKILL');
    const event = new RegExp(`${code}[^\\n]*"msg":"a worker cannot be started"`, 'g');
    await untilAtLeast(`${code} is reported twice`, () => service.stdout().match(event)?.length ?? 0, 2);
    t.equal((await send(url, 'GET', '/items')).status, 200, 'the other one responds');
    set(0);
    await until('two respond again', () => processesAt(url), 2);
  }
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  t.equal(service.stderr(), '');
});

t.test('a service for which the system starts no process says why, and ends', async (t) => {
  for (const [code, errno] of ERRORS) {
    const { env } = await failingSpawns(t, errno);
    const DATABASE_URL = await testDatabase(t);
    const workers = startProcess(t, { ...env, DATABASE_URL, WORKERS: '2' });
    t.not(await workers.ended, 0);
    t.match(workers.stderr(), new RegExp(`^[^\\n]*a worker cannot be started: [^\\n]*${code}[^\\n]*\\n$`));
    const embedded = startProcess(t, { ...env, DATA_DIR: await dataFolder(t) });
    t.equal(await embedded.ended, 69);
    t.match(embedded.stderr(), new RegExp(`^[^\\n]*${code}[^\\n]*\\n$`));
  }
});

t.test('an embedded PostgreSQL for which the system has no resources is started later', async (t) => {
  const { set, env } = await failingSpawns(t, 0);
  const service = startProcess(t, { ...env, DATA_DIR: await migratedFolder(t) });
  const url = await service.ready();
  const server = () => {
    const { pid } = service.child;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number).filter(isAlive);
  };
  const create = async () => (await send(url, 'POST', '/items', { body: { name: 'Lamp' } })).status;
  for (const [code, errno] of ERRORS) {
    set(errno);
    for (const pid of server()) process.kill(pid, 'SIGQUIT');
    await until(
      `${code} is reported`,
      () => service.stdout(),
      (text) => new RegExp(`cannot be started: [^\\n]*${code}`).test(text),
    );
    t.equal((await send(url, 'GET', '/healthz')).status, 200);
    set(0);
    await until('it writes again', create, (status) => status === 201);
  }
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
});
