import postgres from 'postgres';

/** What is told to whoever listens. */
export interface Listening {
  readonly onMessage: (payload: string) => void;
  /** From now on every message arrives. */
  readonly onOpen: () => void;
  /** From now on messages are missed, until it is open again; `why` is what the driver says of it. */
  readonly onLost: (why: unknown) => void;
}

/** How long after a loss the next attempt is made, in milliseconds. */
const RETRY_MS = 250;

/**
 * Listens to a channel on a connection of its own, opened again whenever it is lost; gives the function that ends
 * it. The driver's own `listen` tells nobody of a loss, and gives up when the first attempt after it fails.
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
    const lose = (why: unknown): void => {
      if (lost || ended) return;
      lost = true;
      void sql.end({ timeout: 0 });
      onLost(why);
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
      // Not among the driver's types: its own `listen` is made with it.
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
