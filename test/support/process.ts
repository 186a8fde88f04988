import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENGINE } from './citus.js';
import { fastFolder } from './fast-folder.js';
import { COLLECTIONS } from './names.js';
import type { ServiceResponse } from './service.js';
import type { Constants } from './settings.js';
import type { Test } from './test.js';
import { NO_TIME_LIMITS } from './time-limits.js';
import { until } from './until.js';

export { until };

/** The names that tests send in Host. */
export const HOSTS = 'a x plinth.test';

/**
 * The program in one file, which a run of many test files has made of dist: it starts in a third of the CPU time. Undefined
 * in a run of few files.
 */
export const BUNDLED = process.env.PLINTH_TEST_BUNDLED;

const URL_PRINTED = /https?:\/\/\S+/;
/** The program as tsc has made it. */
export const DIST = fileURLToPath(new URL('../../src/main.js', import.meta.url));
/** The program that tests start. */
export const PROGRAM = BUNDLED ?? DIST;
/** The program of dist with other constants, which `replacing` names. */
export const WITH_CONSTANTS = fileURLToPath(new URL('./with-constants.js', import.meta.url));

/** The variable with constants of a service that runs WITH_CONSTANTS. */
export const replacing = (constants: Constants) => ({ PLINTH_TEST_CONSTANTS: JSON.stringify(constants) });

/** A service as it is run: a process of its own. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The exit code of the process, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** The URL that it prints; throws when it ends before. */
  readonly ready: () => Promise<string>;
}

/** Runs the service, without limits of time but those in `env`; killed when the test ends. */
export function startProcess(t: Test, env: Record<string, string>, program = PROGRAM): ServiceProcess {
  return startNode(t, [program], { ...NO_TIME_LIMITS, PORT: '0', ALLOWED_HOSTS: HOSTS, ...env });
}

/** Runs node in a folder, or this one, with `input` on the standard input; killed when the test ends. */
export function startNode(
  t: Test,
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
  input?: string | Buffer,
): ServiceProcess {
  return startProgram(t, process.execPath, args, env, cwd, input);
}

/** `env` and what every process of a test needs: the program path, the names of collections, the engine of its database. */
export const environment = (env: Record<string, string>): Record<string, string | undefined> => ({
  PATH: process.env.PATH,
  ...COLLECTIONS,
  ...(env.DATABASE_URL ? ENGINE : {}),
  ...env,
});

/** Runs a program in a process group of its own; the group is killed when the test ends. */
export function startProgram(
  t: Test,
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
  input?: string | Buffer,
): ServiceProcess {
  const child = spawn(program, args, {
    cwd,
    detached: true,
    env: environment(env),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessWithoutNullStreams;
  child.stdin?.end(input);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  // Also if the test does not end: the runner was ended.
  const kill = () => killGroup(child);
  process.once('exit', kill);
  void ended.then(() => process.off('exit', kill));
  t.teardown(async () => {
    kill();
    await ended;
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    ready: async () => {
      const printed = await until(
        'the service is ready',
        () => {
          if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${stderr}`);
          return stdout + stderr;
        },
        () => URL_PRINTED.test(stdout),
      );
      return URL_PRINTED.exec(printed)![0];
    },
  };
}

function killGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL');
  } catch {
    // All its processes have ended.
  }
}

/** A folder for a cluster, its real path. When the test ends, a server that is left in it, or in its `data`, is ended. */
export async function dataFolder(t: Test): Promise<string> {
  const folder = await realpath(await mkdtemp(join(fastFolder(), 'plinth-data-')));
  await chmod(folder, 0o755);
  t.teardown(async () => {
    for (const dataDir of [folder, join(folder, 'data')]) {
      const pid = serverPid(dataDir);
      if (pid === undefined || !isServerOf(pid, dataDir)) continue;
      process.kill(pid, 'SIGQUIT');
      await until('the server that was left ends', () => !isAlive(pid));
    }
    // A process of the server may write a last file after its parent ended.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  return folder;
}

/** The process that the cluster in a data folder names as its server. */
export function serverPid(dataDir: string): number | undefined {
  try {
    return Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]) || undefined;
  } catch {
    return undefined;
  }
}

/** Where the server of a data folder listens. */
export async function serverUrl(dataDir: string): Promise<string> {
  const [file, password] = await Promise.all(
    ['postmaster.pid', 'plinth.password'].map((name) => readFile(join(dataDir, 'postgres', name), 'utf8')),
  );
  return `postgres://plinth:${password}@127.0.0.1:${file?.split('\n')[3]}/postgres`;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // The process that adopted it may not have noticed its end.
    return process.platform !== 'linux' || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** A test that wrote a foreign number into the file must not have that process killed. */
function isServerOf(pid: number, dataDir: string): boolean {
  if (pid === process.pid || !isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`-D\0${join(dataDir, 'postgres')}\0`);
}

/** The process that gave a response its id: the part of the id before the count, which may contain hyphens. */
export const processOf = ({ headers }: Pick<ServiceResponse, 'headers'>): string =>
  String(headers['x-request-id']).replace(/-[^-]*$/, '');
