import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { openSession, withSession } from '../../db/session.js';
import { findBinaries } from './binaries.js';
import { Claim, InUseError } from './claim.js';
import { type Cluster, EmbeddedError, initialise, pickUser, type RunAs, urlOf } from './cluster.js';
import { addressOf } from './orphan.js';
import { type Server, startServer } from './postgres-server.js';

/** A PostgreSQL of the service's own, running on a loopback port for as long as the service runs. */
export interface Embedded {
  readonly url: string;
  /** Ends the server cleanly; connections still open are closed by it. */
  stop(): Promise<void>;
}

/** Milliseconds between two attempts to start the server. */
const RETRY_MS = 1000;
/** How long a process that was killed may take to end. */
const GRACE_MS = 1500;
/** How long the server of an owner may take to start. */
const JOIN_MS = 30_000;
const POLL_MS = 50;
const SESSION = { settings: {}, connectMs: 5000 };
/** Advisory lock that commands share while they use the server of another process: "plnt" and 3. */
const JOINED = [0x706c6e74, 3] as const;

export interface EmbeddedOptions {
  /** The folder of the cluster; created if it does not exist. */
  readonly dataDir: string;
  /** Settings besides the defaults, as `name=value`. */
  readonly settings?: readonly string[];
  /** Called when the server has crashed and was, or could not be, started again. */
  readonly onCrash?: (message: string, restarted: boolean) => void;
}

/**
 * Starts the cluster in `dataDir`, after initializing a new one. A server that a killed service left behind is stopped
 * first. Throws EmbeddedError, also if a running service owns the folder.
 */
export const startEmbedded = (options: EmbeddedOptions): Promise<Embedded> => open(options, GRACE_MS, false);

/**
 * Starts the cluster as `startEmbedded` does, or uses the server of a running service or command, which continues afterwards.
 * A server that was started here stops when no other command uses it any more.
 */
export const joinEmbedded = (options: EmbeddedOptions): Promise<Embedded> => open(options, JOIN_MS, true);

function open(options: EmbeddedOptions, patienceMs: number, join: boolean): Promise<Embedded> {
  return inOneLine(async () => {
    // An installation without PostgreSQL says so, whatever its folder is.
    await findBinaries();
    const dataDir = await makeFolder(resolve(options.dataDir));
    const end = Date.now() + patienceMs;
    for (;;) {
      try {
        const started = await start(dataDir, options);
        return join ? { url: started.url, stop: () => stopUnused(started) } : started;
      } catch (error) {
        if (!(error instanceof InUseError)) throw error;
        const owned = join ? await reach(dataDir) : undefined;
        if (owned) return owned;
        if (Date.now() > end) throw error;
      }
      await sleep(POLL_MS);
    }
  });
}

/** The server of a live owner, if it accepts a session and is not about to stop. */
async function reach(dataDir: string): Promise<Embedded | undefined> {
  const folder = join(dataDir, 'postgres');
  const password = await readFile(join(folder, 'plinth.password'), 'utf8').catch(() => '');
  const address = await addressOf(folder);
  if (!address) return undefined;
  const url = urlOf({ password }, address.port, address.folder);
  const session = await openSession(url, SESSION).catch(() => undefined);
  const leave = async () => {
    await session?.end();
    address.close();
  };
  const locks = session && (await tryLock(session.sql).catch(() => undefined));
  if (locks?.[0]?.is_held) return { url, stop: leave };
  await leave();
  return undefined;
}

const tryLock = (sql: postgres.Sql) =>
  sql`select pg_try_advisory_lock_shared(${JOINED[0]}::integer, ${JOINED[1]}::integer) as is_held`;

/** Stops a server when the commands that use it have ended. Others start it again afterwards. */
async function stopUnused({ url, stop }: Embedded): Promise<void> {
  let stopped: Promise<void> | undefined;
  await withSession(url, SESSION, async (sql) => {
    await sql`select pg_advisory_lock(${JOINED[0]}::integer, ${JOINED[1]}::integer)`;
    stopped = stop();
    // The session ends with the server.
    await stopped;
  }).catch(() => undefined);
  await (stopped ?? stop());
}

async function inOneLine<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EmbeddedError) throw error;
    throw new EmbeddedError(`the embedded PostgreSQL cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

/** The user that runs the server of a data folder; undefined: the service's own. Throws EmbeddedError. */
export async function userOf(dataDir: string): Promise<RunAs | undefined> {
  const binaries = await findBinaries();
  return pickUser(await makeFolder(resolve(dataDir)), binaries);
}

/** The cluster in a data folder, created if there is none. */
async function openCluster(dataDir: string, settings: readonly string[] = []): Promise<Cluster> {
  const binaries = await findBinaries();
  const runAs = await pickUser(dataDir, binaries);
  const folder = join(dataDir, 'postgres');
  if (!existsSync(join(folder, 'PG_VERSION'))) await initialise(dataDir, folder, binaries, runAs);
  const password = await readFile(join(folder, 'plinth.password'), 'utf8').catch(() => {
    throw new EmbeddedError(`${folder} has no plinth.password: it is not a cluster of this service`);
  });
  return { folder, binaries, settings, password, runAs };
}

async function start(dataDir: string, options: EmbeddedOptions): Promise<Embedded> {
  const claim = await Claim.take(dataDir);
  try {
    const cluster = await openCluster(dataDir, options.settings);
    return superviseServer(cluster, claim, await startServer(cluster, claim), options);
  } catch (error) {
    await claim.release();
    throw error;
  }
}

/** Starts a server again that ends, until it is stopped. */
function superviseServer(cluster: Cluster, claim: Claim, first: Server, options: EmbeddedOptions): Embedded {
  let server = first;
  const { port } = server;
  const stop = new AbortController();
  let stopping = false;

  /** Attempts to start it until it succeeds, since a full disk may have space again. Reports each reason once. */
  async function restart(last: string): Promise<Server | undefined> {
    for (
      let reported = '';
      !stopping;
      await sleep(RETRY_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    ) {
      try {
        return await startServer(cluster, claim, port);
      } catch (error) {
        const reason = messageOf(error);
        if (reason !== reported)
          options.onCrash?.(`the embedded PostgreSQL ended and cannot be started: ${reason}; ${last}`, false);
        reported = reason;
      }
    }
    return undefined;
  }

  async function watch(): Promise<void> {
    for (;;) {
      await server.exited;
      if (stopping) return;
      const last = server.lastWords();
      const again = await restart(last);
      if (!again) return;
      server = again;
      // The service stops: the server that was started just now must not be left behind.
      if (stopping) return server.stop();
      options.onCrash?.(`the embedded PostgreSQL ended and was started again; ${last}`, true);
    }
  }
  const watched = watch();

  return {
    url: urlOf(cluster, port),
    stop: async () => {
      stopping = true;
      stop.abort();
      await server.stop();
      await watched;
      await claim.release();
    },
  };
}

const messageOf = (error: unknown) => (error as Error).message.replaceAll('\n', ' | ');

/** Creates a folder and those above it. The recursive mkdir of Node never ends below /proc. */
async function makeFolders(path: string): Promise<void> {
  if (existsSync(path)) return;
  await makeFolders(dirname(path));
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    // Another process was faster.
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Creates the folder and returns its real path, since a cluster is identified by its path. */
async function makeFolder(dataDir: string): Promise<string> {
  try {
    await makeFolders(dataDir);
    const probe = join(dataDir, `.write-${process.pid}`);
    await writeFile(probe, '');
    await rm(probe, { force: true }); // a process with the same id in another container may have removed it
    return await realpath(dataDir);
  } catch (error) {
    throw new EmbeddedError(
      `DATA_DIR ${dataDir} cannot be written: ${(error as Error).message}; set DATA_DIR to a folder that this user may write, or DATABASE_URL`,
    );
  }
}
