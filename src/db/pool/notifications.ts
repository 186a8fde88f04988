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
  let retry: NodeJS.Timeout | undefined;
  let current: Connection | undefined;

  const lose = (reason: unknown): void => {
    if (hasEnded) return;
    onLost(reason);
    retry = setTimeout(open, RETRY_MS).unref();
  };
  const loseCurrent = (connection: Connection, reason: unknown): void => {
    if (connection !== current) return;
    current = undefined;
    lose(reason);
  };
  const onNotification = (from: string, payload: string) => {
    if (from === channel) onMessage(payload);
  };
  const dialler = new Dialler({ hosts, settings: TASK_SETTINGS.listen, onNotification }, (lost) =>
    loseCurrent(lost, lost.lost),
  );
  const open = async (): Promise<void> => {
    let connection: Connection;
    try {
      connection = await dialler.dial(connectMs);
    } catch (error) {
      return lose(error);
    }
    current = connection;
    if (connection.lost) return loseCurrent(connection, connection.lost);
    try {
      await connection.sql`listen ${connection.sql(channel)}`;
      if (current === connection && !hasEnded) onOpen();
    } catch (error) {
      connection.destroy(error as Error);
    }
  };

  // Not before: each renewal is a gap in the feed, and a database may be read-only for long.
  hosts.onWritable(() => current?.destroy());
  void open();
  return async () => {
    hasEnded = true;
    clearTimeout(retry);
    dialler.stop();
    current?.destroy();
  };
}
