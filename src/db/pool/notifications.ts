import { setTimeout as sleep } from 'node:timers/promises';
import { TASK_SETTINGS } from '../session-settings.js';
import type { Connection } from './connection.js';
import { Dialler } from './host-dialler.js';
import type { HostOrder } from './host-order.js';

export interface Listening {
  readonly onMessage: (payload: string) => void;
  /** Every message from now on will arrive. */
  readonly onOpen: () => void;
  /** Messages are missed until the connection is open again. */
  readonly onLost: (reason: unknown) => void;
}

/** Pause before a lost connection is reopened, in milliseconds. */
const RETRY_MS = 250;

/**
 * Listens to a channel on a dedicated connection, which is reopened whenever it is lost; returns the function that ends
 * this. The driver's own `listen` does not report a loss, and gives up when its first attempt to reconnect fails.
 */
export function listen(
  hosts: HostOrder,
  connectMs: number,
  channel: string,
  { onMessage, onOpen, onLost }: Listening,
): () => Promise<void> {
  let hasEnded = false;
  let current: Connection | undefined;
  let lose: (connection: Connection) => void = () => undefined;
  const onNotification = (from: string, payload: string) => {
    if (from === channel) onMessage(payload);
  };
  const dialler = new Dialler({ hosts, settings: TASK_SETTINGS.listen, onNotification }, (lost) =>
    lose(lost),
  );

  /** Rejects when the connection is lost, or cannot be opened. */
  const listenOnce = async (): Promise<never> => {
    const connection = await dialler.dial(connectMs);
    current = connection;
    const lost = new Promise<never>((_, reject) => {
      lose = (other) => other === connection && reject(connection.lost);
    });
    if (connection.lost || hasEnded) lose(connection);
    await Promise.race([lost, connection.sql`listen ${connection.sql(channel)}`]);
    if (!hasEnded) onOpen();
    return lost;
  };
  const listenOn = async (): Promise<void> => {
    while (!hasEnded) {
      await listenOnce().catch((reason: Error) => {
        current?.destroy(reason);
        if (!hasEnded) onLost(reason);
      });
      await sleep(RETRY_MS, undefined, { ref: false });
    }
  };

  // Not before: each renewal is a gap in the feed, and a database may be read-only for long.
  hosts.on('writable', () => current?.destroy());
  void listenOn();
  return async () => {
    hasEnded = true;
    dialler.stop();
    current?.destroy();
  };
}
