import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Claim } from '../../../src/features/embedded/claim.js';
import { joinEmbedded, startEmbedded } from '../../../src/features/embedded/embedded.js';
import { COMMAND } from '../../support/command.js';
import { migratedFolder } from '../../support/migrated-folder.js';
import {
  dataFolder,
  HOSTS,
  PROGRAM,
  type ServiceProcess,
  startProcess,
  startProgram,
} from '../../support/process.js';
import t, { type Test } from '../../support/test.js';
import { NO_TIME_LIMITS } from '../../support/time-limits.js';

const SETTINGS = ['fsync=off'];

const IN_CONTAINER = ['--pid', '--ipc', '--mount', '--fork', '--kill-child', '--mount-proc'];

/** Why this machine has no namespaces. */
const skip = (() => {
  try {
    execFileSync('unshare', [...IN_CONTAINER, 'true'], { stdio: 'pipe' });
    return false;
  } catch (error) {
    return `unshare is not permitted: ${(error as Error).message}`;
  }
})();

/** Runs a program in namespaces of its own. */
function contain(
  t: Test,
  dataDir: string,
  args: readonly string[],
  more: readonly string[] = [],
  input?: string,
): ServiceProcess {
  const env = { ...NO_TIME_LIMITS, PORT: '0', ALLOWED_HOSTS: HOSTS, DATA_DIR: dataDir };
  return startProgram(t, 'unshare', [...IN_CONTAINER, ...more, ...args], env, undefined, input);
}

const startContained = (t: Test, dataDir: string, shell: readonly string[] = []) =>
  contain(t, dataDir, [...shell, process.execPath, PROGRAM]);

const claimOf = async (folder: string) => {
  const [name] = (await readdir(join(folder, 'claim'))).filter((each) => /^\d+$/.test(each));
  return join(folder, 'claim', name!);
};

t.test('a second container is refused, and its commands work through the first', { skip }, async (t) => {
  const folder = await migratedFolder(t);
  const url = await startContained(t, folder).ready();
  const second = startContained(t, folder);
  t.equal(await second.ended, 69);
  t.match(second.stderr(), /^plinth: DATA_DIR is in use: process \d+ of \S+ owns \S+; stop it/);
  const created = await fetch(`${url}/items`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"name":"confirmed"}',
  });
  t.equal(created.status, 201);
  // With and without the network of the service.
  for (const more of [[], ['--net']])
    for (const [args, printed] of [
      [['export', 'items'], /"name":"confirmed"/],
      [['keys', 'create', '--label', `of ${more.length}`, '--subject', 'x', '--scopes', 'items:read'], /key/],
      [['keys', 'list'], new RegExp(`of ${more.length}`)],
      [['users', 'create', `ann${more.length}@example.org`, '--name', 'Ann'], /^id: /],
      [['backup', join(folder, `backup${more.length}`)], /Copied/],
      [['doctor', '--json'], /"database/],
    ] as const) {
      const command = contain(t, folder, [process.execPath, COMMAND, ...args], more, 'correct horse\n');
      const code = await command.ended;
      t.match(command.stdout(), printed, `${args[0]} ${args[1]} ${more}: ${command.stderr()}`);
      if (args[0] !== 'doctor') t.equal(code, 0);
    }
  const users = (await (await fetch(`${url}/users`)).json()) as { email: string }[];
  t.same(users.map(({ email }) => email).sort(), ['ann0@example.org', 'ann1@example.org']);
});

t.test('the next container takes over from one that is killed', { skip }, async (t) => {
  const folder = await migratedFolder(t);
  const first = startContained(t, folder);
  await first.ready();
  first.child.kill('SIGKILL');
  await first.ended;
  const { url, stop } = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  t.match(url, /^postgres:/);
  await stop();
});

t.test('a server that a killed service left in its container is ended first', { skip }, async (t) => {
  const folder = await migratedFolder(t);
  // The shell stays, and with it the namespaces.
  const first = startContained(t, folder, ['sh', '-c', '"$@" & echo "pid $!"; wait; sleep 600', 'sh']);
  await first.ready();
  const socket = async () =>
    (await readdir(join(folder, 'postgres'))).filter((name) => /^\.s\.PGSQL\.\d+$/.test(name));
  const before = await socket();
  t.equal(before.length, 1);
  const container = Number(
    execFileSync('pgrep', ['-P', String(first.child.pid)], { encoding: 'utf8' }).split('\n')[0],
  );
  const node = Number(/^pid (\d+)/m.exec(first.stdout())![1]);
  execFileSync('nsenter', ['-t', String(container), '-p', '-m', 'kill', '-9', String(node)]);
  const embedded = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  t.teardown(() => embedded.stop());
  const left = execFileSync('nsenter', ['-t', String(container), '-p', '-m', 'ps', '-eo', 'args'], {
    encoding: 'utf8',
  });
  t.notMatch(left, /postgres/, 'no server is left in the container');
  t.notSame(await socket(), before);
});

t.test('the next start does not wait after a stop', async (t) => {
  const folder = await migratedFolder(t);
  const options = { dataDir: folder, settings: SETTINGS };
  await (await startEmbedded(options)).stop();
  t.match(await readFile(await claimOf(folder), 'utf8'), /^released /);
  await (await startEmbedded(options)).stop();
  t.equal((await readdir(join(folder, 'claim'))).length, 1, 'former claims are removed');
});

t.test('a suspended owner on this machine stays the owner', async (t) => {
  const folder = await migratedFolder(t);
  const service = startProcess(t, { DATA_DIR: folder });
  const url = await service.ready();
  service.child.kill('SIGSTOP');
  await t.rejects(startEmbedded({ dataDir: folder }), { message: /DATA_DIR is in use/ });
  service.child.kill('SIGCONT');
  t.equal((await fetch(`${url}/users`)).status, 200);
});

t.test('an owner without a socket may live elsewhere until its file is removed', async (t) => {
  const folder = await dataFolder(t);
  const file = join(folder, 'claim/7');
  await mkdir(join(folder, 'claim'));
  await writeFile(file, 'owned       no-socket process 1 of there\n');
  await t.rejects(Claim.take(folder), {
    message: /^DATA_DIR is in use: process 1 of there .* may run on another machine; if .* remove .*claim\/7/,
  });
  await rm(file);
  await (await Claim.take(folder)).release();
  for (const content of ['', 'nonsense']) {
    await writeFile(file, content);
    const claim = await Claim.take(folder, 100);
    t.match(claim.path, /claim\/8$/, 'a file that no process completes has no owner');
    await claim.release();
    await rm(claim.path);
  }
});

t.test('a file that no owner makes has no right', async (t) => {
  for (const name of ['99999999999999999999', '9007199254740991']) {
    const folder = await dataFolder(t);
    await mkdir(join(folder, 'claim'));
    await writeFile(join(folder, 'claim', name), '');
    await t.rejects(Claim.take(folder), {
      message: /^no process has made .*: remove the file$/,
    });
  }
  for (const name of ['0', '007', '1e9', '-3', '5.5', 'x']) {
    const folder = await dataFolder(t);
    await mkdir(join(folder, 'claim'));
    await writeFile(join(folder, 'claim', name), '');
    const claim = await Claim.take(folder);
    t.match(claim.path, /claim\/1$/, name);
    await claim.release();
  }
});

t.test('of many that claim a folder at once one gets it', async (t) => {
  const folder = await dataFolder(t);
  for (const round of [1, 2, 3]) {
    const claims = await Promise.allSettled(Array.from({ length: 20 }, () => Claim.take(folder)));
    const [claim, ...others] = claims.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    t.same(others, []);
    for (const each of claims)
      if (each.status === 'rejected') t.match(each.reason, { message: /DATA_DIR is in use/ });
    await claim!.release();
    t.pass(`round ${round}`);
  }
});

t.test('a claim that is removed is lost', async (t) => {
  const folder = await dataFolder(t);
  const claim = await Claim.take(folder);
  await rm(claim.path);
  await t.rejects(claim.require(), /another process has claimed DATA_DIR/);
  await claim.release();
});

t.test('a folder with a path that no socket address can have', async (t) => {
  const folder = join(await dataFolder(t), 'x'.repeat(120), 'data,with=odd %names');
  const owner = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  await t.rejects(startEmbedded({ dataDir: folder }), { message: /DATA_DIR is in use/ });
  const joined = await joinEmbedded({ dataDir: folder });
  t.match(joined.url, /%2Fproc%2Fself%2Ffd%2F/);
  await joined.stop();
  await owner.stop();
});
