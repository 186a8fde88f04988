import type { DatabaseServer } from '../../database-url/servers.js';
import { Connection, type ConnectionOptions, connectionError, READ_ONLY } from './connection.js';
import type { HostOrder } from './host-order.js';

/** After a failure no further connection is attempted for this time, in milliseconds. */
const PAUSE_MS = 50;
/** How long the first attempt of a host may take, in milliseconds. */
const ATTEMPT_MS = 500;
/** The code of an attempt without a response in time. */
const SILENT = 'ETIMEDOUT';

/** The options of the connections that a dialler opens. */
export type DialOptions = Omit<ConnectionOptions, 'server' | 'requiresPrimary'> & {
  readonly hosts: HostOrder;
};

const late = () => connectionError(SILENT, 'the database did not open a connection in time');
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
   * Opens a connection to the first host that accepts one. A host that does not respond is attempted anew again and again,
   * since packets lost in a network failure may never be acknowledged, even once it is over. Rejects when all hosts have
   * refused, with ETIMEDOUT after `connectMs`, and when the pool stops.
   */
  async dial(connectMs: number): Promise<Connection> {
    try {
      const connection = await this.#attemptAll(connectMs);
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

  /** Attempts the hosts in turn. Those that do not respond have twice as long in each round, as far as the time suffices. */
  async #attemptAll(connectMs: number): Promise<Connection> {
    const { hosts } = this.options;
    const end = performance.now() + connectMs;
    for (let attemptMs = ATTEMPT_MS; ; attemptMs *= 2) {
      let [isSilent, failure]: [boolean, unknown] = [false, undefined];
      for (const server of hosts.servers) {
        const leftMs = end - performance.now();
        if (leftMs <= 0) throw failure ?? late();
        try {
          return await this.#attempt(server, Math.min(attemptMs, leftMs));
        } catch (error) {
          if (this.#stop.signal.aborted) throw error;
          failure = error;
          if ((error as { code?: unknown }).code !== SILENT) continue;
          isSilent = true;
          hosts.avoid(server);
        }
      }
      if (!isSilent) throw failure;
    }
  }

  async #attempt(server: DatabaseServer, attemptMs: number): Promise<Connection> {
    const { signal } = this.#stop;
    const { hosts, ...options } = this.options;
    let isOpen = false;
    const connection = new Connection(
      { ...options, server, requiresPrimary: hosts.requiresPrimary },
      (lost) => isOpen && this.onLost(lost),
    );
    const timeout = setTimeout(() => connection.destroy(late()), attemptMs);
    const abort = () => connection.destroy(stoppedError());
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    try {
      await connection.opened;
      isOpen = true;
    } finally {
      clearTimeout(timeout);
      signal.removeEventListener('abort', abort);
    }
    hosts.prefer(server);
    if (!connection.isReadOnly) hosts.noteWritable();
    return connection;
  }
}
