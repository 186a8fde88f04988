import postgres from 'postgres';

/**
 * The driver (postgres 3.4.9) does not survive the loss of a connection: what it had queued for the socket
 * keeps that connection from ever writing again (its issue 1066), and a statement given to a reserved
 * connection that has closed ends the process (issue 1208). So a client whose connection was lost is not used
 * again; its statements in flight are rejected by the driver, and the next one gets a new client.
 */
interface Client {
  readonly sql: postgres.Sql;
  lost: boolean;
}

export interface PoolOptions {
  readonly url: string;
  readonly size: number;
  readonly connectMs: number;
  /** Time limit of a statement; 0: none. */
  readonly statementMs: number;
  /** Settings of its sessions. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Connections shared by whoever has a statement, pipelined. */
export interface Shared {
  sql(): postgres.Sql;
  end(): Promise<void>;
}

/** What a connection that is lent is used by; throws when it is lost. */
export type Use = () => postgres.Sql;

/** Connections lent to one at a time. */
export interface Lent {
  /** Waits for a free connection; `use` throws when the connection is lost, and never moves to another. */
  lend<T>(work: (use: Use) => Promise<T>): Promise<T>;
  end(): Promise<void>;
}

const END_S = 5;

export function openShared(options: PoolOptions): Shared {
  let ended = false;
  const open = (): Client => openClient(options, options.size, lose);
  function lose(client: Client): void {
    if (client === current && !ended) current = open();
    void client.sql.end({ timeout: END_S });
  }
  let current = open();
  return {
    sql: () => current.sql,
    end: () => {
      ended = true;
      return current.sql.end({ timeout: END_S });
    },
  };
}

export function openLent(options: PoolOptions): Lent {
  const idle: Client[] = [];
  const waiting: (() => void)[] = [];
  let out = 0;
  let ended = false;

  async function take(): Promise<Client> {
    if (out >= options.size) await new Promise<void>((free) => waiting.push(free));
    else out++;
    return idle.pop() ?? openClient(options, 1, (client) => void client.sql.end({ timeout: END_S }));
  }

  /** A place that is given back goes to who waited longest. */
  function giveBack(client: Client): void {
    if (ended) void client.sql.end({ timeout: END_S });
    else if (!client.lost) idle.push(client);
    const next = waiting.shift();
    if (next) next();
    else out--;
  }

  return {
    lend: async (work) => {
      const client = await take();
      try {
        return await work(() => {
          if (client.lost)
            throw Object.assign(new Error('the connection was lost'), { code: 'CONNECTION_CLOSED' });
          return client.sql;
        });
      } finally {
        giveBack(client);
      }
    },
    end: async () => {
      ended = true;
      await Promise.all(idle.map(({ sql }) => sql.end({ timeout: END_S })));
    },
  };
}

function openClient(options: PoolOptions, max: number, onLost: (client: Client) => void): Client {
  const sql = postgres(options.url, {
    max,
    connect_timeout: Math.max(1, Math.ceil(options.connectMs / 1000)),
    // The driver would end a connection within the hour, also one that is lent and between two statements.
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => undefined,
    onclose: () => {
      if (client.lost) return;
      client.lost = true;
      onLost(client);
    },
    // Times stay the server's text: no Date is made on the way.
    types: {
      time: { to: 1184, from: [1082, 1114, 1184], serialize: String, parse: (text: string) => text },
    },
    connection: {
      application_name: 'plinth',
      TimeZone: 'UTC',
      statement_timeout: options.statementMs,
      ...options.settings,
    },
  });
  const client: Client = { sql, lost: false };
  return client;
}
