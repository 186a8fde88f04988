import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../process/listen.js';
import { type Cluster, EmbeddedError, lastWordsOf, spawnAs } from './cluster.js';
import { inUse, removeOrphan, tryOwn } from './owner-lock.js';
import { whileStarting } from './start-lock.js';

const START_MS = 30_000;
const STOP_MS = 20_000;
/** How long the last words of a process that has ended may take: one that it has started may hold the pipe. */
const WORDS_MS = 5000;

/** A server that runs and is owned by this process. */
export interface Server {
  readonly port: number;
  readonly exited: Promise<void>;
  lastWords(): string;
  stop(): Promise<void>;
}

/** Clears away what a killed service left, starts the server and takes the owner's lock. */
export function claim(cluster: Cluster, port?: number): Promise<Server> {
  return whileStarting(cluster.folder, () => clearAndLaunch(cluster, port));
}

async function clearAndLaunch(cluster: Cluster, port: number | undefined): Promise<Server> {
  const end = Date.now() + START_MS;
  const reasons = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    await removeOrphan(cluster);
    try {
      return await launch(
        cluster,
        port ?? (await freePort({ host: '127.0.0.1', port: 0, setting: 'DATA_DIR' })),
      );
    } catch (error) {
      // A session of a server that was killed works on until it ends, and nothing may start before.
      const held = /shared memory block/.test((error as Error).message) && Date.now() < end;
      // The port was taken meanwhile, or another service started the cluster at the same moment.
      reasons.add((error as Error).message);
      // Each attempt may fail for another reason, and the first is the cause: a full disk.
      if (!held && (attempt >= 3 || error instanceof EmbeddedError))
        throw reasons.size === 1 ? error : new EmbeddedError([...reasons].join('; then: '), { cause: error });
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
  const owner = await ready(cluster, port, child, exited, lastWords);
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
  exited: Promise<void>,
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
    if (ended()) {
      // The last words of the server may still be in the pipe.
      const isClosed = await Promise.race([exited.then(() => true), sleep(WORDS_MS, false, { ref: false })]);
      if (isClosed) throw new Error(`PostgreSQL did not start: ${lastWords()}`);
      child.stderr?.destroy();
      throw new EmbeddedError(
        `PostgreSQL did not start, and a process that it has started still runs: ${lastWords()}`,
      );
    }
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
      if (owner) await owner.end();
    },
  };
}

/** Rejects if the server ends by no signal, as one that waits for a disk. */
async function stopServer(child: ChildProcess, exited: Promise<void>, owner: Owner): Promise<void> {
  await owner.end();
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = Promise.race([exited, once(child, 'exit')]);
  // The first one is a fast shutdown: sessions end, a checkpoint is written.
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    child.kill(signal);
    const isEnded = await Promise.race([ended.then(() => true), sleep(STOP_MS, false, { ref: false })]);
    if (isEnded) return;
  }
  throw new EmbeddedError(`PostgreSQL does not end: process ${child.pid}`);
}
