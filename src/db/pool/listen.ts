import postgres from 'postgres';

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
  url: string,
  connectMs: number,
  channel: string,
  { onMessage, onOpen, onLost }: Listening,
): () => Promise<void> {
  let ended = false;
  let retry: NodeJS.Timeout | undefined;

  const open = (): postgres.Sql => {
    let lost = false;
    const lose = (reason: unknown): void => {
      if (lost || ended) return;
      lost = true;
      void sql.end({ timeout: 0 });
      onLost(reason);
      retry = setTimeout(() => {
        current = open();
      }, RETRY_MS).unref();
    };
    const options = {
      max: 1,
      connect_timeout: Math.max(1, Math.ceil(connectMs / 1000)),
      idle_timeout: 0,
      max_lifetime: null,
      fetch_types: false,
      onnotice: () => undefined,
      onclose: () => lose(new Error('the connection was lost')),
      // Missing in the driver's types; its own `listen` is based on it.
      onnotify: (from: string, payload: string) => !lost && from === channel && onMessage(payload),
      connection: { application_name: 'plinth listen' },
    };
    const sql = postgres(url, options);
    sql`listen ${sql(channel)}`.then(() => !lost && !ended && onOpen(), lose);
    return sql;
  };

  let current = open();
  return async () => {
    ended = true;
    clearTimeout(retry);
    await current.end({ timeout: 0 });
  };
}
