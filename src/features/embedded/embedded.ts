import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, rm, statfs, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from './binaries.js';
import { type Cluster, EmbeddedError, initialise, pickUser, type RunAs, urlOf } from './cluster.js';
import { ownedPort } from './owner-lock.js';
import { claim, type Server } from './postgres-server.js';
import { whileStarting } from './start-lock.js';

/** A PostgreSQL of the service's own, running on a loopback port for as long as the service runs. */
export interface Embedded {
  readonly url: string;
  /** Ends the server cleanly; connections still open are closed by it. */
  stop(): Promise<void>;
}

/** Milliseconds between two attempts to start the server. */
const RETRY_MS = 1000;

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
 * first. Throws EmbeddedError, also if a running service owns the server.
 */
export function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  return inOneLine(async () => start(await openCluster(options), options));
}

/** Starts the cluster as `startEmbedded` does, or uses the server of a running service, which continues afterwards. */
export function joinEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  return inOneLine(async () => {
    const cluster = await openCluster(options);
    const port = await whileStarting(cluster.folder, () => ownedPort(cluster));
    if (port === undefined) return start(cluster, options);
    return { url: urlOf(cluster, port), stop: async () => undefined };
  });
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
async function openCluster(options: EmbeddedOptions): Promise<Cluster> {
  const binaries = await findBinaries();
  const dataDir = await makeFolder(resolve(options.dataDir));
  const runAs = await pickUser(dataDir, binaries);
  const folder = join(dataDir, 'postgres');
  if (!existsSync(join(folder, 'PG_VERSION'))) {
    await requireSpace(dataDir);
    await initialise(dataDir, folder, binaries, runAs);
  }
  const password = await readFile(join(folder, 'plinth.password'), 'utf8').catch(() => {
    throw new EmbeddedError(`${folder} has no plinth.password: it is not a cluster of this service`);
  });
  return { folder, binaries, settings: options.settings ?? [], password, runAs };
}

async function start(cluster: Cluster, options: EmbeddedOptions): Promise<Embedded> {
  let server = await claim(cluster);
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
        return await claim(cluster, port);
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
    },
  };
}

const messageOf = (error: unknown) => (error as Error).message.replaceAll('\n', ' | ');

/** Creates a folder and those above it. The recursive mkdir of Node never ends below /proc. */
export async function makeFolders(path: string): Promise<void> {
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

/** Bytes that a new cluster needs. */
const MIN_FREE_BYTES = 64 * 1_048_576;

/** Throws EmbeddedError if there is no space for a new cluster. */
async function requireSpace(dataDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize < MIN_FREE_BYTES)
    throw new EmbeddedError(
      `the disk of DATA_DIR ${dataDir} is full: make room, set DATA_DIR to a folder on another disk, or set DATABASE_URL`,
    );
}
