import { readFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession } from '../../db/session.js';
import { type Cluster, EmbeddedError, urlOf } from './cluster.js';
import { connects, shortened } from './unix-socket.js';

const OPEN_MS = 5000;
const ORPHAN_MS = 30_000;
const POLL_MS = 50;

/** Where the server of a cluster can be reached, until it is closed. */
export interface Address {
  readonly port: number;
  /** The folder of a socket that is listened to, also in another namespace; undefined: the loopback address. */
  readonly folder: string | undefined;
  close(): void;
}

/** Undefined: there is no server. One with an address of the loopback interface may have ended. */
export async function addressOf(folder: string): Promise<Address | undefined> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!/^\.s\.PGSQL\.\d+$/.test(name) || (await connects(join(folder, name))) === 'refused') continue;
    const { path, close } = shortened(join(folder, name));
    return { port: Number(name.slice('.s.PGSQL.'.length)), folder: dirname(path), close };
  }
  const port = Number((await linesOf(folder))[3]);
  return port > 0 ? { port, folder: undefined, close: () => undefined } : undefined;
}

/** The lines of postmaster.pid. */
const linesOf = async (folder: string): Promise<string[]> =>
  (await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');

/** Ends a server that a killed service has left, and clears its folder. Throws EmbeddedError. */
export async function removeOrphan(cluster: Cluster): Promise<void> {
  const end = Date.now() + ORPHAN_MS;
  for (let isEnding = false; ; await sleep(POLL_MS)) {
    const lines = await linesOf(cluster.folder);
    const pid = isServer(Number(lines[0]), cluster.folder) ? Number(lines[0]) : undefined;
    const address = await addressOf(cluster.folder);
    try {
      if (pid === undefined && address?.folder === undefined) return await clear(cluster.folder, lines);
      isEnding ||= address !== undefined && (await endServer(cluster, address, pid));
    } finally {
      address?.close();
    }
    if (Date.now() > end)
      throw new EmbeddedError(
        `a PostgreSQL (process ${lines[0]}) uses ${cluster.folder} and does not ${isEnding ? 'end' : 'respond'}`,
      );
  }
}

/** Whether the server is ending now. One that is starting does so when it accepts a session. */
async function endServer(
  cluster: Cluster,
  { port, folder }: Address,
  pid: number | undefined,
): Promise<boolean> {
  const options = { settings: {}, connectMs: OPEN_MS };
  const session = await openSession(urlOf(cluster, port, folder), options).catch(() => undefined);
  const late = setTimeout(() => session?.destroy(), OPEN_MS);
  try {
    if (!session) return false;
    if (pid !== undefined) process.kill(pid, 'SIGINT');
    // In another namespace, whose number of the server means another process here, or none.
    else
      await session.sql`
        copy (select) to program 'for lock in .s.PGSQL.*.lock; do read pid < $lock; kill -INT $pid; done'`;
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(late);
    session?.destroy();
  }
}

/**
 * A number that another process was given since would keep PostgreSQL from starting; its parent's does not.
 * The file stays, since by the rest of it PostgreSQL finds sessions that a killed server left behind. A file without a
 * number, which a full disk or a loss of power leaves, would keep it from starting as well.
 */
async function clear(folder: string, lines: readonly string[]): Promise<void> {
  const pidFile = join(folder, 'postmaster.pid');
  if (!/^[1-9]\d{0,8}$/.test(lines[0]!)) await rm(pidFile, { force: true });
  else if (isAlive(Number(lines[0]))) await writeFile(pidFile, [process.pid, ...lines.slice(1)].join('\n'));
  for (const name of await readdir(folder))
    if (name.startsWith('.s.PGSQL.')) await rm(join(folder, name), { force: true });
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
  if (!(pid > 0) || !isAlive(pid)) return false;
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
