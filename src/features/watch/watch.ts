import { type FSWatcher, watch } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import { embeddedOf } from '../../app/open-features.js';
import { type App, startApp } from '../../app.js';
import { type Config, processesOf } from '../../config/config.js';
import { pathIn } from '../../config/parsers.js';
import { openServer, type Server } from '../../db/open-database.js';
import { readFolder, readSqlFiles } from '../../declarations/read-declarations.js';
import { ExitError } from '../../errors/exit-error.js';
import type { Started, Watching } from '../../feature.js';
import { listen, urlOf } from '../../process/listen.js';
import { type Stoppable, stopOnSignals } from '../../process/signals.js';
import { CoalescedRuns } from '../../work/shared-runs.js';

/** An editor writes a file in several steps: a file with a fault may be incomplete. */
const SETTLE_MS = 50;
/** Services that finish their requests at once. */
const MAX_STOPPING = 3;

/**
 * Runs the service for development. After a change of a declaration or of an SQL file another service in
 * this process takes its place at the same address, after the steps of the plan; with a fault the former one goes on. Throws
 * what `startApp` throws.
 */
export async function runWatching(config: Config, watching: Watching): Promise<Started> {
  if (processesOf(config) > 1 || config.tlsCert !== undefined)
    throw new ExitError('--watch needs one process without TLS: remove WORKERS and TLS_CERT');
  let running: WatchedService | undefined;
  stopOnSignals(() => running, watching.log, watching.isQuiet);
  const database = await openServer(config, watching.log, false, embeddedOf(watching.features));
  const service = new WatchedService(config, database, watching);
  try {
    const started = await service.start();
    running = service;
    return started;
  } catch (error) {
    await service.stop();
    throw error;
  }
}

class WatchedService implements Stoppable {
  readonly #listener: HttpServer;
  readonly #reloads = new CoalescedRuns(() => this.#reload());
  readonly #stopping = new Set<Promise<void>>();
  #app: App | undefined;
  #watchers: readonly FSWatcher[] = [];
  #settle: NodeJS.Timeout | undefined;
  /** Called with what prevents the next run, or when it is done. */
  #waiting: ((fault?: unknown) => void)[] = [];
  /** The content of the files that the service has, or is about to have; undefined: they have a fault. */
  #applied: string | undefined;

  constructor(
    private config: Config,
    private readonly database: Server,
    private readonly watching: Watching,
  ) {
    this.#listener = createServer((req, res) => {
      // The prefix is that of links: a proxy removes it, which the service in another one's place expects to do itself.
      const request = Object.assign(req, { originalUrl: `${this.config.publicPrefix}${req.url}` });
      this.#app!.handle(request, res);
    });
  }

  async start(): Promise<Started> {
    const { host, port } = this.config;
    this.#applied = this.#content();
    const app = await this.#startApp();
    this.#app = app;
    await listen(this.#listener, { host, port, setting: 'PORT' });
    this.#watch();
    return { url: urlOf(this.#listener, host), run: app.db.run };
  }

  async stop(): Promise<void> {
    clearTimeout(this.#settle);
    for (const watcher of this.#watchers) watcher.close();
    await this.#reloads.stop();
    this.#listener.close();
    await Promise.all([this.#app?.stop(), ...this.#stopping]);
    this.#listener.closeAllConnections();
    await this.database.close();
  }

  #startApp(): Promise<App> {
    const config = { ...this.config, databaseUrl: this.database.url, metricsPort: undefined };
    const redeclare = () => this.#redeclare();
    return startApp(config, this.watching.log, this.watching.features, { isMounted: true, redeclare });
  }

  /** Watches the folder with declarations, or the one in which it may be created, and that with SQL files. */
  #watch(): void {
    const { collections, dataChanges, folder } = this.config;
    const folders = [
      pathIn(folder, collections ?? '.'),
      ...(dataChanges === undefined ? [] : [pathIn(folder, dataChanges)]),
    ];
    this.#watchers = folders.map((path) => {
      const watcher = watch(path, { persistent: false }, () => this.#changed());
      watcher.on('error', (error) =>
        this.watching.print(`${path} is not watched any more: ${error.message}`),
      );
      return watcher;
    });
  }

  /** Applies complete files at once. Further notices of what is applied change nothing. */
  #changed(): void {
    clearTimeout(this.#settle);
    const content = this.#content();
    if (content !== undefined && content === this.#applied) return;
    if (content === undefined) this.#settle = setTimeout(() => this.#reloads.request(), SETTLE_MS);
    else this.#reloads.request();
  }

  /** The content of the files; undefined: one cannot be read, or is incomplete. */
  #content(): string | undefined {
    try {
      const { collections, dataChanges, folder } = this.watching.readConfig();
      const { collections: own, shared, faults } = readFolder(collections, folder);
      const sqlFiles = dataChanges === undefined ? [] : readSqlFiles(dataChanges, folder);
      return faults.length > 0 ? undefined : JSON.stringify([own, [...shared], sqlFiles]);
    } catch {
      return undefined;
    }
  }

  #redeclare(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push((fault) => (fault === undefined ? resolve() : reject(fault)));
      this.#reloads.request();
    });
  }

  async #reload(): Promise<void> {
    const former = this.config;
    const waiting = this.#waiting.splice(0);
    this.#applied = this.#content();
    try {
      this.config = this.watching.readConfig();
      const app = await this.#startApp();
      const replaced = this.#app!;
      this.#app = app;
      this.#stopLater(replaced);
      const names = app.collections.map(({ resource }) => resource.name);
      this.watching.print(`The declarations are applied: ${names.join(', ')}`);
      for (const done of waiting) done();
    } catch (error) {
      this.config = former;
      this.#applied = undefined;
      const text = error instanceof ExitError ? error.message : ((error as Error).stack ?? String(error));
      this.watching.print(`${text}\nThe service goes on with the former declarations.`);
      for (const done of waiting) done(error);
    }
    for (const watcher of this.#watchers) watcher.close();
    this.#watch();
    // The notice of a change that a closed watcher had not delivered is lost.
    if (this.#applied !== undefined) this.#changed();
    if (this.#stopping.size >= MAX_STOPPING) await Promise.race(this.#stopping);
  }

  #stopLater(app: App): void {
    const stopped = app.stop().catch((error: unknown) => {
      this.watching.log.error({ err: error }, 'a service with former declarations did not stop in order');
    });
    this.#stopping.add(stopped);
    void stopped.then(() => this.#stopping.delete(stopped));
  }
}
