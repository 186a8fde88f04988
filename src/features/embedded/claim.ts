import { once } from 'node:events';
import { mkdir, open, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedError } from './cluster.js';
import { connects, shortened } from './unix-socket.js';

const HEARTBEAT_MS = 1000;
/** How long an owner on another machine may be silent, which a long task of its process does not reach. */
const SILENCE_MS = 20_000;
const POLL_MS = 50;
/** The first field of a claim that its owner has given up. */
const RELEASED = 'released';
/** The second field of a claim with a socket. */
const SOCKET = 'socket';

/** A live process owns the folder. */
export class InUseError extends EmbeddedError {
  constructor(
    dataDir: string,
    owner: string,
    /** Whether the owner may run on this machine, so that its server is reachable. */
    readonly isHere: boolean,
  ) {
    super(
      `DATA_DIR is in use: ${owner || 'another process'} owns ${dataDir}; stop it, or set another DATA_DIR`,
    );
  }
}

export interface ClaimOptions {
  /** Called again and again until the release, when another machine has claimed the folder because this process was silent. */
  readonly onLost: () => void;
  readonly silenceMs?: number | undefined;
}

/**
 * The right of one process to use a data folder, which other namespaces and machines see. It is a file `claim/<number>`, and
 * the highest number has the right: who takes over creates the next one, which the file system lets one process do, and
 * removes the others, which their owners notice. An owner lives if its Unix socket `claim/<number>.sock` accepts a
 * connection, also while it is suspended. If it accepts none, the owner of a local file system is dead. On others, which
 * several machines use, an owner lives if its heartbeat, a number in its file, changes; clocks are not compared.
 */
export class Claim {
  #timer: NodeJS.Timeout | undefined;
  #beats = 0;
  /** Writes happen one after the other, so that no heartbeat follows the release. */
  #written: Promise<boolean> = Promise.resolve(true);

  private constructor(
    readonly path: string,
    /** The sign of life, the process and its host, in each version of the file. */
    readonly identity: string,
    readonly socket: Server | undefined,
    /** Whether a former owner, which is perhaps on another machine, was only silent. */
    readonly isBySilence: boolean,
    readonly onLost: () => void,
  ) {}

  /** Claims the folder. Throws InUseError while a live process owns it. */
  static async take(dataDir: string, { onLost, silenceMs = SILENCE_MS }: ClaimOptions): Promise<Claim> {
    const folder = join(dataDir, 'claim');
    await mkdir(folder, { recursive: true });
    for (;;) {
      const last = Math.max(...(await numbersIn(folder)));
      if (last >= Number.MAX_SAFE_INTEGER)
        throw new EmbeddedError(`no process has made ${join(folder, String(last))}: remove the file`);
      const end = last === 0 ? 'known' : await endOf(dataDir, join(folder, String(last)), silenceMs);
      if (end === undefined) {
        await sleep(POLL_MS);
        continue;
      }
      const path = join(folder, String(last + 1));
      const isMade = await writeFile(path, '', { flag: 'wx' }).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
          return false;
        },
      );
      const numbers = await numbersIn(folder);
      if (isMade && Math.max(...numbers) === last + 1)
        return Claim.#own(folder, path, end === 'silence', onLost);
      // Another process was faster, and may have released its claim since.
      if (isMade) await rm(path, { force: true });
      await sleep(POLL_MS);
    }
  }

  static async #own(folder: string, path: string, isBySilence: boolean, onLost: () => void): Promise<Claim> {
    for (const name of await readdir(folder))
      if (Number.parseInt(name, 10) < Number(path.slice(folder.length + 1)))
        await rm(join(folder, name), { force: true });
    const socket = await listen(`${path}.sock`);
    const claim = new Claim(
      path,
      `${socket ? SOCKET : 'heartbeat'} process ${process.pid} of ${hostname()}\n`,
      socket,
      isBySilence,
      onLost,
    );
    // Not before the socket listens, since the content says that a socket without a listener means the end.
    await claim.require();
    claim.#timer = setInterval(() => void claim.#beat(), HEARTBEAT_MS).unref();
    return claim;
  }

  /** Throws EmbeddedError if another process has the right now. */
  async require(): Promise<void> {
    if (!(await this.#write(String(++this.#beats))))
      throw new EmbeddedError('another process has claimed DATA_DIR, since this one was silent');
  }

  /** Gives up the right. The next process does not wait. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#write(RELEASED).catch(() => undefined);
    this.socket?.close();
  }

  async #beat(): Promise<void> {
    // A write that fails is a heartbeat that is missing.
    if (!(await this.#write(String(++this.#beats)).catch(() => true))) this.onLost();
  }

  #write(first: string): Promise<boolean> {
    this.#written = this.#written
      .catch(() => true)
      .then(() => overwrite(this.path, first.padEnd(12) + this.identity));
    return this.#written;
  }
}

/** False: the file is gone. Each version of it has the same length, so that no reader sees a part. */
async function overwrite(path: string, content: string): Promise<boolean> {
  const file = await open(path, 'r+').catch(unlessGone);
  await file?.writeFile(content).finally(() => file.close());
  return file !== undefined;
}

function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ESTALE') throw error;
}

/** Numbers of claims, and 0. No process writes another form of a number. */
const numbersIn = async (folder: string): Promise<number[]> => [
  0,
  ...(await readdir(folder)).filter((name) => /^[1-9]\d*$/.test(name)).map(Number),
];

/** Waits until it is known how an owner has ended. Undefined: another claim counts. Throws InUseError. */
async function endOf(
  dataDir: string,
  path: string,
  silenceMs: number,
): Promise<'known' | 'silence' | undefined> {
  const isDecisive = await isLocal(dirname(path));
  const first = await readFile(path, 'utf8').catch(unlessGone);
  for (let waited = 0; ; waited += POLL_MS) {
    const content = await readFile(path, 'utf8').catch(unlessGone);
    if (content === undefined) return undefined;
    const [beat, sign, owner = ''] = /^(\S+)\s+(\S+) (.*)\n/.exec(content)?.slice(1) ?? [];
    if (beat === RELEASED) return 'known';
    const state = await connects(`${path}.sock`);
    if (state === 'accepted' || content !== first)
      throw new InUseError(dataDir, owner, isDecisive || state === 'accepted');
    if (state === 'refused' && sign === SOCKET && isDecisive) return 'known';
    if (waited >= silenceMs) return 'silence';
    await sleep(POLL_MS);
  }
}

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
