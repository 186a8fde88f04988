import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withSession } from '../../db/session.js';
import { freePort } from '../../process/listen.js';
import type { Claim } from './claim.js';
import { type Cluster, EmbeddedError, lastWordsOf, spawnAs, urlOf } from './cluster.js';
import { removeOrphan } from './orphan.js';

const START_MS = 30_000;
const OPEN_MS = 5000;
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

/** Clears away what a killed service left, and starts the server, if the claim is still this process's. */
export async function startServer(
  cluster: Cluster,
  claim: Pick<Claim, 'require'>,
  port?: number,
): Promise<Server> {
  const end = Date.now() + START_MS;
  const reasons = new Set<string>();
  let sockets = '.';
  for (let attempt = 1; ; attempt++) {
    await claim.require();
    await removeOrphan(cluster);
    try {
      return await launch(
        cluster,
        port ?? (await freePort({ host: '127.0.0.1', port: 0, setting: 'DATA_DIR' })),
        sockets,
      );
    } catch (error) {
      // A session of a server that was killed works on until it ends, and nothing may start before.
      const held = /shared memory block/.test((error as Error).message) && Date.now() < end;
      // The folder can have no sockets, by which other namespaces would reach the server.
      if (/any Unix-domain sockets/.test((error as Error).message)) sockets = '';
      // Or another process has bound the port meanwhile.
      reasons.add((error as Error).message);
      // Each attempt may fail for another reason, and the first is the cause: a full disk.
      if (!held && (attempt >= 3 || error instanceof EmbeddedError))
        throw reasons.size === 1 ? error : new EmbeddedError([...reasons].join('; then: '), { cause: error });
      await sleep(100);
    }
  }
}

async function launch(cluster: Cluster, port: number, sockets: string): Promise<Server> {
  const args = ['-D', cluster.folder, '-p', String(port)];
  const settings = [
    'listen_addresses=127.0.0.1',
    // Relative to the folder of the cluster, so that no path is too long.
    `unix_socket_directories=${sockets}`,
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
  await ready(cluster, port, child, exited, lastWords);
  return {
    port,
    exited,
    lastWords,
    stop: () => stopServer(child, exited),
  };
}

/** Waits until the server takes connections. */
async function ready(
  cluster: Cluster,
  port: number,
  child: ChildProcess,
  exited: Promise<void>,
  lastWords: () => string,
): Promise<void> {
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  const end = Date.now() + START_MS;
  while (!(await isReady(cluster, port))) {
    if (ended()) {
      // The last words of the server may still be in the pipe.
      const isClosed = await Promise.race([exited.then(() => true), sleep(WORDS_MS, false, { ref: false })]);
      const [, major] = /initialized by PostgreSQL version (\d+)/.exec(lastWords()) ?? [];
      if (major !== undefined)
        throw new EmbeddedError(
          `${cluster.folder} is a database of PostgreSQL ${major}, which another version of this service brings: start that version, and move the data as docs/backup.md says`,
        );
      if (isClosed) throw new Error(`PostgreSQL did not start: ${lastWords()}`);
      child.stderr?.destroy();
      throw new EmbeddedError(
        `PostgreSQL did not start, and a process that it has started still runs: ${lastWords()}`,
      );
    }
    if (Date.now() > end) {
      child.kill('SIGQUIT');
      throw new EmbeddedError(`PostgreSQL was not ready within ${START_MS / 1000} s: ${lastWords()}`);
    }
    await sleep(20);
  }
}

/** Whether the server accepts a session. */
const isReady = (cluster: Cluster, port: number): Promise<boolean> =>
  withSession(urlOf(cluster, port), { settings: {}, connectMs: OPEN_MS }, async () => true).catch(
    () => false,
  );

/** Rejects if the server ends by no signal, as one that waits for a disk. */
async function stopServer(child: ChildProcess, exited: Promise<void>): Promise<void> {
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
