import { type Connection, type ConnectionOptions, connectionError, openConnection } from './connection.js';

export interface DialOptions extends ConnectionOptions {
  /** How long a connection may take to open, in milliseconds. */
  readonly connectMs: number;
}

/** After how long another attempt is made beside the one that has no answer, in milliseconds. */
const AGAIN_MS = 500;

/**
 * Opens a connection. One attempt has all the time; beside it another is made again and again: what was sent into a
 * network that swallows everything is never answered, also when the network is back. The first that is open is taken.
 * Rejects with the first refusal, with ETIMEDOUT after `connectMs`, and when `signal` is aborted.
 */
export function dial(
  options: DialOptions,
  signal: AbortSignal,
  onLost: (lost: Connection) => void,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const attempts: ReturnType<typeof openConnection>[] = [];
    let settled = false;
    const settle = (why: Error | undefined, winner?: Connection): void => {
      if (settled) return;
      settled = true;
      clearInterval(again);
      clearTimeout(late);
      signal.removeEventListener('abort', abort);
      for (const attempt of attempts) if ((attempt as unknown) !== winner) attempt.destroy();
      if (winner) resolve(winner);
      else reject(why);
    };
    const attempt = (): void => {
      const opening = openConnection(options, (lost) => settled && onLost(lost));
      attempts.push(opening);
      opening.opened.then(
        (winner) => settle(undefined, winner),
        // An attempt that was given up has said nothing about the server.
        (error) => attempts.includes(opening) && settle(error),
      );
    };
    const abort = () => settle(connectionError('CONNECTION_ENDED', 'the service is stopping'));
    const again = setInterval(() => {
      attempts.splice(1, 1)[0]?.destroy();
      attempt();
    }, AGAIN_MS);
    const late = setTimeout(
      () => settle(connectionError('ETIMEDOUT', 'the database did not open a connection in time')),
      options.connectMs,
    );
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    else attempt();
  });
}
