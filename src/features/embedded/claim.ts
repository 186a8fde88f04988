import { once } from 'node:events';
import { mkdir, open, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedError } from './cluster.js';
import { connects, shortened } from './unix-socket.js';

/** How long a process may take to write its claim after it has made the file. */
const WRITE_MS = 20_000;
const POLL_MS = 50;
/** The first field of a claim that its owner has given up. */
const RELEASED = 'released';
/** The second field of a claim with a socket. */
const SOCKET = 'socket';

/** A live process owns the folder, or one of which that is unknown. */
export class InUseError extends EmbeddedError {}

/**
 * The right of one process to use a data folder, which other namespaces and machines see. It is a file `claim/<number>`, and
 * the highest number has the right: who takes over creates the next one, which the file system lets one process do, and
 * removes the others, which their owners notice. An owner lives if its Unix socket `claim/<number>.sock` accepts a
 * connection, also while it is suspended. If it accepts none, the owner of a local file system is dead. On others, which
 * several machines use, the owner may live elsewhere, so that a person has to say that it does not.
 */
export class Claim {
  private constructor(
    readonly path: string,
    /** The sign of life, the process and its host, in each version of the file. */
    readonly identity: string,
    readonly socket: Server | undefined,
  ) {}

  /** Claims the folder. Throws InUseError while a live process owns it. */
  static async take(dataDir: string, writeMs = WRITE_MS): Promise<Claim> {
    const folder = join(dataDir, 'claim');
    await mkdir(folder, { recursive: true });
    for (;;) {
      const last = Math.max(...(await numbersIn(folder)));
      if (last >= Number.MAX_SAFE_INTEGER)
        throw new EmbeddedError(`no process has made ${join(folder, String(last))}: remove the file`);
      if (last > 0) await requireEnded(dataDir, join(folder, String(last)), writeMs);
      const path = join(folder, String(last + 1));
      const isMade = await writeFile(path, '', { flag: 'wx' }).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
          return false;
        },
      );
      const numbers = await numbersIn(folder);
      if (isMade && Math.max(...numbers) === last + 1) return Claim.#own(folder, path);
      // Another process was faster, and may have released its claim since.
      if (isMade) await rm(path, { force: true });
      await sleep(POLL_MS);
    }
  }

  static async #own(folder: string, path: string): Promise<Claim> {
    for (const name of await readdir(folder))
      if (Number.parseInt(name, 10) < Number(path.slice(folder.length + 1)))
        await rm(join(folder, name), { force: true });
    const socket = await listen(`${path}.sock`);
    const identity = `${socket ? SOCKET : 'no-socket'} process ${process.pid} of ${hostname()}\n`;
    const claim = new Claim(path, identity, socket);
    // Not before the socket listens, since the content says that a socket without a listener means the end.
    await claim.require();
    return claim;
  }

  /** Throws EmbeddedError if another process has the right now. */
  async require(): Promise<void> {
    if (!(await this.#write('owned')))
      throw new EmbeddedError('another process has claimed DATA_DIR: its file in the folder claim is gone');
  }

  /** Gives up the right. The next process does not wait. */
  async release(): Promise<void> {
    await this.#write(RELEASED).catch(() => undefined);
    this.socket?.close();
  }

  /** False: the file is gone. Each version of it has the same length, so that no reader sees a part. */
  async #write(state: string): Promise<boolean> {
    const file = await open(this.path, 'r+').catch(unlessGone);
    await file?.writeFile(state.padEnd(12) + this.identity).finally(() => file.close());
    return file !== undefined;
  }
}

function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ESTALE') throw error;
}

/** Numbers of claims, and 0. No process writes another form of a number. */
const numbersIn = async (folder: string): Promise<number[]> => [
  0,
  ...(await readdir(folder)).filter((name) => /^[1-9]\d*$/.test(name)).map(Number),
];

/** Returns when the owner has ended, or another claim counts. Throws InUseError. */
async function requireEnded(dataDir: string, path: string, writeMs: number): Promise<void> {
  for (let waited = 0; ; waited += POLL_MS) {
    const content = await readFile(path, 'utf8').catch(unlessGone);
    if (content === undefined || content.startsWith(RELEASED)) return;
    const [, sign, owner] = /^\S+\s+(\S+) (.*)\n/.exec(content) ?? [];
    const state = await connects(`${path}.sock`);
    if (state === 'accepted')
      throw new InUseError(
        `DATA_DIR is in use: ${owner ?? 'another process'} owns ${dataDir}; stop it, or set another DATA_DIR`,
      );
    if (owner === undefined ? waited >= writeMs : await hasSurelyEnded(path, sign!, state)) return;
    if (owner !== undefined)
      throw new InUseError(
        `DATA_DIR is in use: ${owner} has claimed ${dataDir} and may run on another machine; if it has ended, remove ${path}, or set another DATA_DIR`,
      );
    await sleep(POLL_MS);
  }
}

const hasSurelyEnded = async (path: string, sign: string, state: string): Promise<boolean> =>
  state === 'refused' && sign === SOCKET && (await isLocal(dirname(path)));

/** Undefined: the folder can have no sockets. */
async function listen(path: string): Promise<Server | undefined> {
  const short = shortened(path);
  const server = createServer((socket) => socket.on('error', () => undefined).destroy());
  server.on('close', short.close);
  try {
    await once(server.listen(short.path), 'listening');
    server.on('error', () => undefined);
    return server.unref();
  } catch {
    short.close();
    return undefined;
  }
}

/** The numbers by which Linux knows ext4, XFS, Btrfs, F2FS, ZFS, tmpfs and overlayfs, which one kernel at a time uses. */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630]);

/** Whether all processes that use the folder run on this kernel, so that its sockets say which of them live. */
const isLocal = async (folder: string): Promise<boolean> =>
  process.platform !== 'linux' || LOCAL.has((await statfs(folder)).type);
