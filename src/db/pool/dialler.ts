import { Connection, type ConnectionOptions, connectionError } from './connection.js';

/** After a failure no further connection is attempted for this time, in milliseconds. */
const PAUSE_MS = 50;
/** An attempt without a response gets a second one beside it, renewed at this interval, in milliseconds. */
const RETRY_MS = 500;

export const stoppedError = () => connectionError('CONNECTION_ENDED', 'the service is stopping');

/** Opens the connections of one pool, with a pause after each failure. */
export class Dialler {
  readonly #stop = new AbortController();
  #failure: Error | undefined;
  #failedAt = 0;

  constructor(
    readonly options: ConnectionOptions,
    readonly onLost: (lost: Connection) => void,
  ) {}

  /** Why no connection can be opened at this moment. */
  refusal(now: number): Error | undefined {
    return this.#failure && now - this.#failedAt < PAUSE_MS ? this.#failure : undefined;
  }

  /**
   * Opens a connection. One attempt has all the time; another beside it starts anew again and again, since packets lost
   * in a network failure may never be acknowledged, even once it is over. Rejects with the first failure, with ETIMEDOUT
   * after `connectMs`, and when the pool stops.
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

  stop(): void {
    this.#stop.abort();
  }

  #race(connectMs: number): Promise<Connection> {
    const { signal } = this.#stop;
    const attempts: Connection[] = [];
    let isSettled = false;
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
      const attempt = (): void => {
        const connection = new Connection(this.options, (lost) => isSettled && this.onLost(lost));
        attempts.push(connection);
        // The failure of an abandoned attempt indicates nothing about the server.
        connection.opened.then(settle, (error) => attempts.includes(connection) && settle(error));
      };
      const abort = () => settle(stoppedError());
      const retry = setInterval(() => {
        attempts.splice(1, 1)[0]?.destroy();
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
