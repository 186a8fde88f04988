import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Test } from '../support/test.js';

/** The folder of Debian's PostgreSQL 15, whose programs the embedded one lacks. */
export const POSTGRES_BIN = '/usr/lib/postgresql/15/bin';

const PACKAGES: Readonly<Record<string, string>> = {
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
  pgbackrest: 'pgbackrest',
  ip: 'iproute2',
};

/** Why tests that need Debian's PostgreSQL and programs cannot run here; false: they can. */
export function missingPrograms(...programs: readonly string[]): string | false {
  if (process.platform !== 'linux') return 'the tests of clusters need Linux';
  const isMissing = (program: string) =>
    !existsSync(`${POSTGRES_BIN}/${program}`) &&
    spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0;
  const packages = programs.filter(isMissing).map((program) => PACKAGES[program] ?? program);
  if (!existsSync(POSTGRES_BIN)) packages.unshift('postgresql-15');
  return packages.length === 0
    ? false
    : `not installed here: apt-get install --no-install-recommends ${packages.join(' ')}`;
}

/** Why tests that run programs as other users, or in network namespaces, are skipped; false: they run. */
export function missingRoot(...programs: readonly string[]): string | false {
  if (process.getuid?.() !== 0)
    return 'these tests need root: programs run as other users, hosts are network namespaces';
  return missingPrograms(...programs);
}

/** A program in a process group of its own. */
export interface Running {
  readonly child: ChildProcess;
  /** The last of what it printed. */
  readonly output: () => string;
  /** Kills the whole group; resolves when the program has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

const OUTPUT_CHARACTERS = 20_000;

/** Starts a program, as another user and in a network namespace if they are given. Killed when the test ends. */
export function run(
  t: Test,
  command: readonly string[],
  { user, host, env = {} }: { user?: string; host?: string; env?: Record<string, string> } = {},
): Running {
  const asUser =
    user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  const onHost = host === undefined ? [] : ['ip', 'netns', 'exec', host];
  const [program, ...args] = [...onHost, ...asUser, ...command] as [string, ...string[]];
  const child = spawn(program, args, {
    detached: true,
    env: { PATH: `${POSTGRES_BIN}:${process.env.PATH}`, LC_ALL: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS);
    });
  // Not `close`: others may have inherited its output.
  const ended = once(child, 'exit');
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    try {
      process.kill(-child.pid!, signal);
    } catch {
      // All its processes have ended.
    }
    await ended;
  };
  t.teardown(() => kill());
  return { child, output: () => output, kill };
}

/** Runs a program to its end. Throws with what it printed unless the exit code is 0. */
export function finish(command: readonly string[]): string {
  const [program, ...args] = command as [string, ...string[]];
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}
