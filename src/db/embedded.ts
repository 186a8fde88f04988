import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { type Binaries, findBinaries, reachable } from './binaries.js';

/** A PostgreSQL of the service's own, running on a loopback port for as long as the service runs. */
export interface Embedded {
  readonly url: string;
  /** Ends the server cleanly; connections still open are closed by it. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Where the cluster lives; made when absent. */
  readonly dataDir: string;
  /** Settings besides the defaults, as `name=value`. */
  readonly settings?: readonly string[];
  /** Told when the server ended by itself and was, or could not be, started again. */
  readonly onCrash?: (message: string, restarted: boolean) => void;
}

/** A cluster that cannot be used, told in one line. */
export class EmbeddedError extends Error {}

/** Advisory lock that says "a live service owns this cluster"; it ends with the service's connection. */
const OWNER = 0x706c6e74;
const START_MS = 30_000;
const STOP_MS = 20_000;
/** How long the lock of a service that was killed may outlive it. */
const GRACE_MS = 1500;

interface Cluster {
  readonly folder: string;
  readonly binaries: Binaries;
  readonly settings: readonly string[];
  readonly password: string;
  readonly runAs: RunAs | undefined;
}

/** Who the server runs as when the service is root, which PostgreSQL refuses to be. */
interface RunAs {
  readonly uid: number;
  readonly gid: number;
  /** The user cannot pass the folders above, so the server keeps the one capability that lets it. */
  readonly passFolders: boolean;
}

/**
 * Starts the cluster in `dataDir`, initialising it when it is new. A server that a killed service left
 * behind is stopped first; one that a live service owns is left alone. Throws EmbeddedError.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  try {
    return await start(options);
  } catch (error) {
    if (error instanceof EmbeddedError) throw error;
    throw new EmbeddedError(`the embedded PostgreSQL cannot be used: ${wordsOf(error)}`, { cause: error });
  }
}

async function start(options: EmbeddedOptions): Promise<Embedded> {
  const binaries = await findBinaries();
  const dataDir = await makeFolder(resolve(options.dataDir));
  const runAs = await pickUser(dataDir, binaries);
  const folder = join(dataDir, 'postgres');
  if (!existsSync(join(folder, 'PG_VERSION'))) await initialise(dataDir, folder, binaries, runAs);
  const password = await readFile(join(folder, 'plinth.password'), 'utf8').catch(() => {
    throw new EmbeddedError(`${folder} holds no plinth.password: it is not a cluster of this service`);
  });
  const cluster: Cluster = { folder, binaries, settings: options.settings ?? [], password, runAs };

  let server = await claim(cluster);
  const { port } = server;
  let stopping = false;

  async function watch(): Promise<void> {
    for (;;) {
      await server.exited;
      if (stopping) return;
      const last = server.lastWords();
      try {
        server = await claim(cluster, port);
      } catch (error) {
        const why = `${wordsOf(error)}; ${last}`;
        options.onCrash?.(`the embedded PostgreSQL ended and cannot be started: ${why}`, false);
        return;
      }
      // Asked to stop meanwhile: what was started just now is not left behind.
      if (stopping) return server.stop();
      options.onCrash?.(`the embedded PostgreSQL ended and was started again; ${last}`, true);
    }
  }
  const watched = watch();

  return {
    url: urlOf(cluster, port),
    stop: async () => {
      stopping = true;
      await server.stop();
      await watched;
    },
  };
}

const wordsOf = (error: unknown) => (error as Error).message.replaceAll('\n', ' | ');

/** Gives the folder's real path: one cluster has one name, by which its server is known. */
async function makeFolder(dataDir: string): Promise<string> {
  try {
    await mkdir(dataDir, { recursive: true });
    const probe = join(dataDir, `.write-${process.pid}`);
    await writeFile(probe, '');
    await rm(probe);
    return await realpath(dataDir);
  } catch (error) {
    throw new EmbeddedError(`DATA_DIR ${dataDir} cannot be written: ${(error as Error).message}`);
  }
}

async function pickUser(dataDir: string, binaries: Binaries): Promise<RunAs | undefined> {
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
async function initialise(
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
    // Fails when another service was faster; then its cluster is the one.
    await rename(made, folder).catch((error) => {
      if (!existsSync(join(folder, 'PG_VERSION'))) throw error;
    });
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
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new EmbeddedError(`initdb failed: ${words()}`);
}

function spawnAs(runAs: RunAs | undefined, program: string, args: readonly string[]): ChildProcess {
  // A group of its own: Ctrl-C in a terminal reaches the service, which then ends the server in order.
  const options = {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'],
    env: { LANG: 'C.UTF-8', PATH: process.env.PATH },
  };
  if (!runAs) return endWithUs(spawn(program, args, options));
  const { uid, gid, passFolders } = runAs;
  if (!passFolders) return endWithUs(spawn(program, args, { ...options, uid, gid }));
  const drop = [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
  ];
  return endWithUs(spawn('setpriv', [...drop, program, ...args], options));
}

/** A service that exits in haste, out of order, still tells the server to end. */
function endWithUs(child: ChildProcess): ChildProcess {
  const end = () => child.kill('SIGINT');
  process.once('exit', end);
  child.once('close', () => process.off('exit', end));
  return child;
}

/** The end of what a process wrote to its error output, kept to a bound. */
function lastWordsOf(child: ChildProcess): () => string {
  let text = '';
  child.on('error', (error) => {
    text += error.message;
  });
  child.stderr?.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-2000);
  });
  return () => text.trim().split('\n').slice(-3).join(' | ');
}

interface Server {
  readonly port: number;
  readonly exited: Promise<void>;
  lastWords(): string;
  stop(): Promise<void>;
}

/** Clears away what a killed service left, starts the server and takes the owner's lock. */
async function claim(cluster: Cluster, port?: number): Promise<Server> {
  const end = Date.now() + START_MS;
  for (let attempt = 1; ; attempt++) {
    await removeOrphan(cluster);
    try {
      return await launch(cluster, port ?? (await freePort()));
    } catch (error) {
      // A session of a server that was killed works on until it ends, and nothing may start before.
      const held = /shared memory block/.test((error as Error).message) && Date.now() < end;
      // The port was taken meanwhile, or another service started the cluster at the same moment.
      if (!held && (attempt >= 3 || error instanceof EmbeddedError)) throw error;
      await sleep(100);
    }
  }
}

async function launch(cluster: Cluster, port: number): Promise<Server> {
  const args = ['-D', cluster.folder, '-p', String(port)];
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'timezone=UTC',
    'log_timezone=UTC',
    'jit=off',
    ...cluster.settings,
  ];
  const child = spawnAs(cluster.runAs, cluster.binaries.postgres, [
    ...args,
    ...settings.flatMap((setting) => ['-c', setting]),
  ]);
  const lastWords = lastWordsOf(child);
  const exited = new Promise<void>((done) => {
    child.once('close', () => done());
  });
  const owner = await ready(cluster, port, child, lastWords);
  return { port, exited, lastWords, stop: () => stopServer(child, exited, owner) };
}

/** Holds the owner's lock. */
interface Owner {
  end(): Promise<void>;
}

/** Waits until the server takes connections, and takes the owner's lock. */
async function ready(
  cluster: Cluster,
  port: number,
  child: ChildProcess,
  lastWords: () => string,
): Promise<Owner> {
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  const end = Date.now() + START_MS;
  let stopping = false;
  const own = () => tryOwn(cluster, port, () => void ownAgain());
  // A server drops every session when one of them crashes, the owner's too, and goes on.
  async function ownAgain(): Promise<void> {
    while (!stopping && !ended()) {
      const again = await own();
      if (again) {
        owner = again;
        return;
      }
      await sleep(50);
    }
  }

  let owner = await own();
  while (!owner) {
    if (ended()) throw new Error(`PostgreSQL did not start: ${lastWords()}`);
    if (owner === false) throw new EmbeddedError(inUse(cluster));
    if (Date.now() > end) {
      child.kill('SIGQUIT');
      throw new EmbeddedError(`PostgreSQL was not ready within ${START_MS / 1000} s: ${lastWords()}`);
    }
    await sleep(20);
    owner = await own();
  }
  return {
    end: async () => {
      stopping = true;
      if (owner) await owner.end({ timeout: 1 });
    },
  };
}

async function stopServer(child: ChildProcess, exited: Promise<void>, owner: Owner): Promise<void> {
  await owner.end();
  child.kill('SIGINT'); // fast shutdown: sessions end, a checkpoint is written
  const impatient = setTimeout(() => child.kill('SIGQUIT'), STOP_MS);
  await exited;
  clearTimeout(impatient);
}

const inUse = (cluster: Cluster) => `DATA_DIR is in use: another running service owns ${cluster.folder}`;

/** Stops a server whose service is gone. Throws EmbeddedError when its service lives. */
async function removeOrphan(cluster: Cluster): Promise<void> {
  const pidFile = join(cluster.folder, 'postmaster.pid');
  const start = Date.now();
  for (;;) {
    const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
    const pid = Number(lines[0]);
    if (!(pid > 0)) return;
    if (!isServer(pid, cluster.folder)) return disown(pidFile, pid, lines);
    const owner = await tryOwn(cluster, Number(lines[3]) || 1);
    if (owner) {
      // Held until the end, so that no other service takes the server for a live one.
      await stopOrphan(pid, cluster.folder);
      return owner.end({ timeout: 0 });
    }
    const waited = Date.now() - start;
    if (owner === false && waited > GRACE_MS) throw new EmbeddedError(inUse(cluster));
    if (waited > START_MS)
      throw new EmbeddedError(`a PostgreSQL (process ${pid}) holds ${cluster.folder} and does not answer`);
    await sleep(50);
  }
}

/**
 * A number that another process was given since would keep PostgreSQL from starting; its parent's does not.
 * The file stays, since by the rest of it PostgreSQL finds sessions that a killed server left behind.
 */
async function disown(pidFile: string, pid: number, lines: readonly string[]): Promise<void> {
  if (isAlive(pid)) await writeFile(pidFile, [process.pid, ...lines.slice(1)].join('\n'));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

/** Whether the process is a live server of this cluster, and not one that was given its number since. */
function isServer(pid: number, folder: string): boolean {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    if (command[0] !== '') return command[command.indexOf('-D') + 1] === folder;
    // So it is for a moment in a server that is ending, but also in one that has ended, and in the kernel's own.
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return /^Name:\s+postgres$/m.test(status) && !/^State:\s+Z/m.test(status);
  } catch {
    return false;
  }
}

async function stopOrphan(pid: number, folder: string): Promise<void> {
  const start = Date.now();
  process.kill(pid, 'SIGINT');
  while (isServer(pid, folder)) {
    if (Date.now() - start > STOP_MS)
      throw new EmbeddedError(`an orphaned PostgreSQL (process ${pid}) does not end`);
    await new Promise((wait) => setTimeout(wait, 20));
  }
}

/** A connection that holds the owner's lock; false: another holds it; undefined: the server does not answer. */
async function tryOwn(
  cluster: Cluster,
  port: number,
  onLost?: () => void,
): Promise<postgres.Sql | false | undefined> {
  let held = false;
  const sql = postgres(urlOf(cluster, port), {
    max: 1,
    connect_timeout: 5,
    // The lock ends with the connection, and the driver would end that within the hour.
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => undefined,
    onclose: () => {
      if (held) onLost?.();
      held = false;
    },
    connection: { application_name: 'plinth owner' },
  });
  try {
    const [row] = await sql<{ owned: boolean }[]>`select pg_try_advisory_lock(${OWNER}::bigint) as owned`;
    held = row?.owned === true;
  } catch {
    await sql.end({ timeout: 0 });
    return undefined;
  }
  if (held) return sql;
  await sql.end({ timeout: 0 });
  return false;
}

function urlOf(cluster: Cluster, port: number): string {
  return `postgres://plinth:${cluster.password}@127.0.0.1:${port}/postgres`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
