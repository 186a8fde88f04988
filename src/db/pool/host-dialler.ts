import type { DatabaseServer } from '../../database-url/servers.js';
import { Connection, type ConnectionOptions, connectionError, READ_ONLY } from './connection.js';
import type { HostOrder } from './host-order.js';
import { errorOfBoth, tlsFallback } from './tls-fallback.js';

/** After a failure no further connection is attempted for this time, in milliseconds. */
const PAUSE_MS = 50;
/** An attempt without a response gets another one beside it, at this interval in milliseconds. */
const RETRY_MS = 500;

/** The options of the connections that a dialler opens. */
export type DialOptions = Omit<ConnectionOptions, 'server' | 'requiresPrimary'> & {
  readonly hosts: HostOrder;
};

export const stoppedError = () => connectionError('CONNECTION_ENDED', 'the service is stopping');

/** Opens the connections of one pool, with a pause after each failure. */
export class Dialler {
  readonly #stop = new AbortController();
  #failure: Error | undefined;
  #failedAt = 0;

  constructor(
    readonly options: DialOptions,
    readonly onLost: (lost: Connection) => void,
  ) {}

  /** Why no connection can be opened at this moment. */
  refusal(now: number): Error | undefined {
    return this.#failure && now - this.#failedAt < PAUSE_MS ? this.#failure : undefined;
  }

  /**
   * Opens a connection to the first host that accepts one. The first attempt has all the time; others beside it start
   * anew again and again, since packets lost in a network failure may never be acknowledged, even once it is over. Rejects
   * when all hosts have refused, with ETIMEDOUT after `connectMs`, and when the pool stops.
   */
  async dial(connectMs: number): Promise<Connection> {
    try {
      const connection = await this.#race(connectMs);
      this.#failure = undefined;
      return connection;
    } catch (error) {
      this.#failure = error as Error;
      this.#failedAt = performance.now();
      throw error;
    }
  }

  /**
   * Renews all connections after an error that says that a server accepts no writes: another host may accept them, or
   * another server at the address of a balancer. What a connection still runs goes on.
   */
  noteError(error: unknown): void {
    if ((error as { code?: unknown } | null)?.code === READ_ONLY) this.options.hosts.noteReadOnly();
  }

  stop(): void {
    this.#stop.abort();
  }

  #race(connectMs: number): Promise<Connection> {
    const { signal } = this.#stop;
    const { hosts, ...options } = this.options;
    const { servers, requiresPrimary } = hosts;
    const attempts: Connection[] = [];
    let isSettled = false;
    let started = 0;
    /** Hosts to attempt at once when one refuses, until the next interval. */
    let left = servers.length - 1;
    return new Promise((resolve, reject) => {
      const settle = (outcome: Connection | Error): void => {
        if (isSettled) return;
        isSettled = true;
        clearInterval(retry);
        clearTimeout(timeout);
        signal.removeEventListener('abort', abort);
        for (const attempt of attempts) if (attempt !== outcome) attempt.destroy();
        if (outcome instanceof Connection) resolve(outcome);
        else reject(outcome);
      };
      const attempt = (): void => open(servers[started++ % servers.length]!);
      /** Attempts a server; after `first` has failed, in the way of `fallback`. */
      const open = (server: DatabaseServer, fallback?: DatabaseServer, first?: Error): void => {
        const connection = new Connection(
          { ...options, server: fallback ?? server, requiresPrimary },
          (lost) => isSettled && this.onLost(lost),
        );
        attempts.push(connection);
        connection.opened.then(
          () => {
            hosts.prefer(server);
            settle(connection);
            if (!connection.isReadOnly) hosts.noteWritable();
          },
          (error) => {
            // The failure of an abandoned attempt indicates nothing about the server.
            const at = attempts.indexOf(connection);
            if (at < 0 || isSettled) return;
            attempts.splice(at, 1);
            const next = tlsFallback(fallback ?? server, connection, error);
            if (next) open(server, next, error);
            else if (left-- > 0) attempt();
            // The primary may be the host that has not responded yet.
            else if (attempts.length === 0 || servers.length === 1)
              settle(first ? errorOfBoth(first, error) : error);
          },
        );
      };
      const abort = () => settle(stoppedError());
      const retry = setInterval(() => {
        left = servers.length - 1;
        if (servers.length > 1) hosts.avoid(servers[(started - 1) % servers.length]!);
        if (attempts.length > servers.length) attempts.splice(1, 1)[0]?.destroy();
        attempt();
      }, RETRY_MS);
      const late = connectionError('ETIMEDOUT', 'the database did not open a connection in time');
      const timeout = setTimeout(settle, connectMs, late);
      signal.addEventListener('abort', abort);
      if (signal.aborted) abort();
      else attempt();
    });
  }
}
