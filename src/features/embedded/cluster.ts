import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnavailableError } from '../../errors/exit-error.js';
import { type Binaries, reachable } from './binaries.js';

/** How long the creation of a cluster may take, also on a slow disk. */
const INITDB_MS = 300_000;

/** A cluster that cannot be used; the message is one line. */
export class EmbeddedError extends UnavailableError {}

/** A cluster on disk, and how to run its server. */
export interface Cluster {
  readonly folder: string;
  readonly binaries: Binaries;
  readonly settings: readonly string[];
  readonly password: string;
  readonly runAs: RunAs | undefined;
}

/** The user that runs the server if the service is root, as which PostgreSQL refuses to run. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
  /** Whether the server needs the capability to pass the folders above, which the user cannot. */
  readonly passFolders: boolean;
}

/** The URL of its database while its server listens on `port`, or at a Unix socket in `folder`. */
export function urlOf({ password }: Pick<Cluster, 'password'>, port: number, folder = '127.0.0.1'): string {
  return `postgres://plinth:${password}@${encodeURIComponent(folder)}:${port}/postgres`;
}

/** The user that runs the server; undefined: the service's own. Throws EmbeddedError. */
export async function pickUser(dataDir: string, binaries: Binaries): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const account =
    accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody');
  if (!account)
    throw new EmbeddedError('PostgreSQL does not run as root, and there is no user postgres or nobody');
  const uid = Number(account[2]);
  const passFolders = !((await reachable(dataDir, uid)) && (await reachable(binaries.postgres, uid)));
  return { uid, gid: Number(account[3]), passFolders };
}

/** Made aside and moved into place, so that a half-made cluster is never taken for a whole one. */
export async function initialise(
  dataDir: string,
  folder: string,
  binaries: Binaries,
  runAs: RunAs | undefined,
): Promise<void> {
  const aside = await mkdtemp(join(dataDir, '.init-'));
  const made = join(aside, 'postgres');
  const passwordFile = join(aside, 'password');
  const password = randomBytes(24).toString('base64url');
  try {
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (runAs) for (const path of [aside, passwordFile]) chownSync(path, runAs.uid, runAs.gid);
    await runInitdb(binaries, made, passwordFile, runAs);
    await writeFile(join(made, 'plinth.password'), password, { mode: 0o600 });
    await rename(made, folder);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function runInitdb(
  binaries: Binaries,
  made: string,
  passwordFile: string,
  runAs: RunAs | undefined,
): Promise<void> {
  // The encoding is named, since initdb would else take it from the environment.
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  const login = ['--username=plinth', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const child = spawnAs(runAs, binaries.initdb, ['-D', made, '--no-instructions', ...locale, ...login]);
  const words = lastWordsOf(child);
  const late = setTimeout(() => child.kill('SIGKILL'), INITDB_MS);
  // Not events.once, which rejects if the program cannot be started.
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(late);
  if (code !== 0) throw new EmbeddedError(`initdb failed: ${words()}`);
}

/** Runs a program of PostgreSQL. Throws EmbeddedError if there is no memory for a process; other errors follow as an event. */
export function spawnAs(runAs: RunAs | undefined, program: string, args: readonly string[]): ChildProcess {
  // A group of its own: Ctrl-C in a terminal reaches the service, which then ends the server in order.
  const options = {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'] satisfies SpawnOptions['stdio'],
    env: { LANG: 'C.UTF-8', PATH: process.env.PATH },
  };
  if (!runAs) return endWithUs(start(program, args, options));
  const { uid, gid, passFolders } = runAs;
  if (!passFolders) return endWithUs(start(program, args, { ...options, uid, gid }));
  const drop = [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    // PostgreSQL asks access(2), which forgets capabilities of users other than root without this.
    '--securebits=+no_setuid_fixup',
  ];
  return endWithUs(start('setpriv', [...drop, program, ...args], options));
}

function start(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    // `lastWordsOf` reports a program that cannot be started.
    return spawn(program, args, options).on('error', () => undefined);
  } catch (error) {
    throw new EmbeddedError(`${program} cannot be started: ${(error as Error).message}`, { cause: error });
  }
}

/** Ends the server also if the service exits abruptly. */
function endWithUs(child: ChildProcess): ChildProcess {
  child.stderr?.on('error', () => undefined);
  const end = () => child.kill('SIGINT');
  process.once('exit', end);
  child.once('close', () => process.off('exit', end));
  return child;
}

/** The last lines of a process's standard error; at most 2,000 characters are stored. */
export function lastWordsOf(child: ChildProcess): () => string {
  let text = '';
  child.on('error', (error) => {
    text += error.message;
  });
  child.stderr?.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-2000);
  });
  return () => lastLines(text.trim().split('\n'));
}

/** The last three lines, and of those before them the last that says why: hints and farewells follow it. */
function lastLines(lines: readonly string[]): string {
  const reason = lines.slice(0, -3).findLast((line) => /\b(?:FATAL|PANIC|ERROR)\b|No space left/.test(line));
  return [...(reason === undefined ? [] : [reason]), ...lines.slice(-3)].join(' | ');
}
