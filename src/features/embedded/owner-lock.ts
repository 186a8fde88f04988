import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../db/pool/connection.js';
import { openSession } from '../../db/session.js';
import { type Cluster, EmbeddedError, urlOf } from './cluster.js';

/** Advisory lock that says "a live service owns this cluster"; it ends with the service's connection. */
const OWNER = 0x706c6e74;
/** How long opening the connection may take, and how long the attempt of the lock. */
const OPEN_MS = 5000;
const ORPHAN_MS = 30_000;
const STOP_MS = 20_000;
/** How long the lock of a killed service may remain. */
const GRACE_MS = 1500;

/** A connection that holds the owner's lock. False: another one holds it. Undefined: the server does not respond. */
export async function tryOwn(
  cluster: Cluster,
  port: number,
  onLost?: () => void,
): Promise<Connection | false | undefined> {
  let isHeld = false;
  const settings = { application_name: 'plinth owner' };
  const connection = await openSession(urlOf(cluster, port), { settings, connectMs: OPEN_MS }, () => {
    if (isHeld) onLost?.();
    isHeld = false;
  }).catch(() => undefined);
  if (!connection) return undefined;
  const late = setTimeout(() => connection.destroy(), OPEN_MS);
  try {
    const [row] = await connection.sql<
      { owned: boolean }[]
    >`select pg_try_advisory_lock(${OWNER}::bigint) as owned`;
    isHeld = row?.owned === true;
  } catch {
    connection.destroy();
    return undefined;
  } finally {
    clearTimeout(late);
  }
  if (isHeld) return connection;
  await connection.end();
  return false;
}

export const inUse = (cluster: Cluster) =>
  `DATA_DIR is in use: another running service owns ${cluster.folder}; stop it, or set another DATA_DIR`;

/** The port of the cluster's server while a live service owns it. */
export async function ownedPort(cluster: Cluster): Promise<number | undefined> {
  const lines = (await readFile(pidFileOf(cluster), 'utf8').catch(() => '')).split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!(pid > 0) || !(port > 0) || !isServer(pid, cluster.folder)) return undefined;
  const owner = await tryOwn(cluster, port);
  if (owner) await owner.end();
  return owner === false ? port : undefined;
}

const pidFileOf = ({ folder }: Cluster) => join(folder, 'postmaster.pid');

/** Stops a server whose service is gone. Throws EmbeddedError when its service lives. */
export async function removeOrphan(cluster: Cluster): Promise<void> {
  const pidFile = pidFileOf(cluster);
  const start = Date.now();
  for (;;) {
    const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
    const pid = Number(lines[0]);
    if (!(pid > 0)) return;
    if (!isServer(pid, cluster.folder)) return disown(pidFile, pid, lines);
    const owner = await tryOwn(cluster, Number(lines[3]) || 1);
    if (owner) {
      // Held until the end, so that no other service regards the server as owned.
      await stopOrphan(pid, cluster.folder);
      return owner.end();
    }
    const waited = Date.now() - start;
    if (owner === false && waited > GRACE_MS) throw new EmbeddedError(inUse(cluster));
    if (waited > ORPHAN_MS)
      throw new EmbeddedError(`a PostgreSQL (process ${pid}) uses ${cluster.folder} and does not respond`);
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
    await sleep(20);
  }
}
