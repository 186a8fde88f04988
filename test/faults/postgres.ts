import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Test } from 'tap';
import { findBinaries } from '../../src/db/embedded/binaries.js';
import { lastWordsOf, pickUser, spawnAs } from '../../src/db/embedded/cluster.js';
import { startEmbedded } from '../../src/db/embedded/embedded.js';
import { freePort } from '../support/free-port.js';
import { dataFolder, isAlive, until } from '../support/process.js';

/** A PostgreSQL that bad things are done to. Its port stays the same. */
export interface Victim {
  readonly url: string;
  /** The URL of a new, empty database. */
  database(): Promise<string>;
  /** Resolves when it takes statements. */
  start(): Promise<void>;
  /** As `pg_ctl stop -m fast` does. */
  stop(): Promise<void>;
  /** kill -9 of the postmaster; its children end when they notice. */
  kill(): Promise<void>;
  /** SIGSTOP to all its processes, until `thaw`. */
  freeze(): void;
  thaw(): void;
}

/** Makes a cluster in a folder of the test's, or in `folder`, and starts it. Ended when the test ends. */
export async function testPostgres(
  t: Test,
  settings: readonly string[] = [],
  folder?: string,
): Promise<Victim> {
  const dataDir = folder ?? (await dataFolder(t));
  await (await startEmbedded({ dataDir, settings })).stop();
  const cluster = join(dataDir, 'postgres');
  const password = await readFile(join(cluster, 'plinth.password'), 'utf8');
  const binaries = await findBinaries();
  const runAs = await pickUser(dataDir, binaries);
  const port = await freePort();
  const url = `postgres://plinth:${password}@127.0.0.1:${port}/postgres`;
  const base = ['-D', cluster, '-p', String(port), '-c', 'listen_addresses=127.0.0.1'];
  const more = ['unix_socket_directories=', ...settings].flatMap((setting) => ['-c', setting]);
  let child: ChildProcess | undefined;
  let frozen: number[] = [];

  const start = async (): Promise<void> => {
    child = spawnAs(runAs, binaries.postgres, [...base, ...more]);
    const words = lastWordsOf(child);
    const started = child;
    await until('the database is started', () => {
      if (started.exitCode !== null) throw new Error(`PostgreSQL ended: ${words()}`);
      return isResponding(url);
    });
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    const children = processesOf(child.pid!);
    child.kill(signal);
    await exited;
    await until('its processes have ended', () => !children.some(isAlive));
  };
  const thaw = (): void => {
    for (const pid of frozen) process.kill(pid, 'SIGCONT');
    frozen = [];
  };
  await start();
  t.teardown(async () => {
    thaw();
    await end('SIGQUIT');
  });
  return {
    url,
    database: async () => {
      const name = `test_${randomBytes(6).toString('hex')}`;
      const sql = postgres(url, { max: 1, onnotice: () => undefined });
      await sql.unsafe(`create database ${name}`);
      await sql.end();
      return url.replace(/\/[^/]*$/, `/${name}`);
    },
    start,
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    freeze: () => {
      // The postmaster first: then there are no more to come.
      process.kill(child!.pid!, 'SIGSTOP');
      frozen = processesOf(child!.pid!);
      for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    },
    thaw,
  };
}

async function isResponding(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 1, fetch_types: false, onnotice: () => undefined });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** A process and those that it has started. */
function processesOf(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid);
  return [pid, ...children.map(Number)];
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
