import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastWordsOf, pickUser, spawnAs } from '../../src/features/embedded/cluster.js';
import { claimPort } from '../support/claimed-port.js';
import { dataFolder } from '../support/process.js';
import { openSql } from '../support/sql.js';
import type { Test } from '../support/test.js';
import { until } from '../support/until.js';
import { POSTGRES_BIN } from './programs.js';

/** A cluster that was made and is run with Debian's programs. */
export interface DebianCluster {
  /** A folder of the user that runs PostgreSQL. */
  readonly folder: string;
  readonly data: string;
  readonly socket: string;
  readonly port: number;
  /** The user that runs PostgreSQL. */
  readonly user: string;
  url(database: string): string;
  /** Resolves to the URL of a new database, which is a copy of `template` if it is given. */
  createDatabase(name: string, template?: string): Promise<string>;
  /** Runs a program as that user. Gives its standard output; throws its error output if it fails. */
  run(program: string, args: readonly string[]): Promise<string>;
  /** Resolves when it accepts writes. */
  start(settings?: readonly string[]): Promise<void>;
  /** A fast shutdown. */
  stop(): Promise<void>;
  /** Makes and starts a server that follows this one. It ends with the test. */
  standby(name: string, settings?: readonly string[]): Promise<Standby>;
}

export interface Standby {
  url(database: string): string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Makes a cluster. It is not started; it ends with the test. */
export async function debianCluster(t: Test): Promise<DebianCluster> {
  const folder = await dataFolder(t);
  // dataFolder ends a server that is left in a folder of this name.
  const data = join(folder, 'postgres');
  const socket = join(folder, 'socket');
  const bin = POSTGRES_BIN;
  const runAs = await pickUser(folder, {
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
  });
  const own = (path: string) => runAs && chownSync(path, runAs.uid, runAs.gid);
  for (const path of [data, socket]) mkdirSync(path, { mode: 0o700 });
  const password = randomBytes(24).toString('hex');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  for (const path of [folder, data, socket, passwordFile]) own(path);
  const port = await claimPort(t);
  const url = (database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;

  const run = async (program: string, args: readonly string[]): Promise<string> => {
    const installed = join(bin, program);
    const child = spawn(existsSync(installed) ? installed : program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: folder,
      env: { LANG: 'C.UTF-8', PATH: process.env.PATH },
      ...(runAs && { uid: runAs.uid, gid: runAs.gid }),
    });
    let [out, words] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      words += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${words}${out}`);
    return out;
  };
  const login = ['--username=postgres', '--auth-local=trust', '--auth-host=scram-sha-256'];
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8'];
  const quick = ['--no-instructions', '--no-sync'];
  await run('initdb', ['-D', data, ...quick, `--pwfile=${passwordFile}`, ...login, ...locale]);

  const server = serverOf(t, join(bin, 'postgres'), runAs, { data, socket, port }, url('postgres'));
  return {
    folder,
    data,
    socket,
    port,
    user: 'postgres',
    url,
    createDatabase: async (name, template = 'template1') => {
      const sql = openSql(url('postgres'), { max: 1 });
      await sql.unsafe(`create database ${name} template ${template}`);
      await sql.end();
      return url(name);
    },
    run,
    start: (settings = []) => server.start(settings, isWritable),
    stop: server.stop,
    standby: async (name, settings = []) => {
      const copy = join(folder, name);
      const own = await claimPort(t);
      const from = ['-h', socket, '-p', String(port), '-U', 'postgres'];
      const quick = ['--checkpoint=fast', '--no-sync'];
      await run('pg_basebackup', ['-D', copy, '-R', '-X', 'stream', ...quick, ...from]);
      const at = (database: string) => url(database).replace(`:${port}/`, `:${own}/`);
      const place = { data: copy, socket, port: own };
      const standby = serverOf(t, join(bin, 'postgres'), runAs, place, at('postgres'));
      const start = () => standby.start(settings, isResponding);
      await start();
      return { url: at, start, stop: standby.stop };
    },
  };
}

interface Place {
  readonly data: string;
  readonly socket: string;
  readonly port: number;
}

/** A server of a cluster, which ends with the test. */
function serverOf(
  t: Test,
  program: string,
  runAs: Parameters<typeof spawnAs>[0],
  { data, socket, port }: Place,
  url: string,
) {
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    await ended;
  };
  t.teardown(stop);
  const start = async (
    settings: readonly string[],
    isReady: (url: string) => Promise<boolean>,
  ): Promise<void> => {
    const fixed = ['listen_addresses=127.0.0.1', `unix_socket_directories=${socket}`, 'fsync=off'];
    const options = [...fixed, ...settings].flatMap((setting) => ['-c', setting]);
    const started = spawnAs(runAs, program, ['-D', data, '-p', String(port), ...options]);
    const words = lastWordsOf(started);
    child = started;
    await until('PostgreSQL is ready', () => {
      if (started.exitCode !== null) throw new Error(`PostgreSQL ended: ${words()}`);
      return isReady(url);
    });
  };
  return { start, stop };
}

const isResponding = async (url: string): Promise<boolean> => (await isInRecovery(url)) !== undefined;
const isWritable = async (url: string): Promise<boolean> => (await isInRecovery(url)) === false;

/** Undefined: it does not respond. */
async function isInRecovery(url: string): Promise<boolean | undefined> {
  const sql = openSql(url, { max: 1, connect_timeout: 2, fetch_types: false, onnotice: () => undefined });
  try {
    const [row] = await sql`select pg_is_in_recovery() as recovering`;
    return row!.recovering as boolean;
  } catch {
    return undefined;
  } finally {
    await sql.end({ timeout: 0 });
  }
}
