import net from 'node:net';
import postgres from 'postgres';
import { stabilizeClasses } from './postgres-parse-cache.js';

/**
 * One session. The driver (postgres 3.4.9) does not survive the loss of a connection: what it had queued for the
 * socket keeps that connection from ever writing again (its issue 1066), a statement given to a reserved connection
 * that has closed ends the process (issue 1208), and one that closes before it is open is opened again at once,
 * for ever. So a driver has one socket, which is ours to end, and is not used again when that is lost.
 */
export interface Connection {
  readonly sql: postgres.Sql;
  /** The server's process, for a cancel. */
  readonly pid: string;
  /** Why it is not to be used again. */
  readonly lost: Error | undefined;
  /** Bytes that have come from the server. */
  readonly received: number;
  /** Whether the driver has stopped reading, since what it gave is not taken. */
  readonly paused: boolean;
  /** Drops it: what is in flight is rejected with `why`, or as a lost connection. */
  destroy(why?: Error): void;
  /** Lets what is in flight end, and says goodbye. */
  end(): Promise<void>;
}

export interface ConnectionOptions {
  readonly url: string;
  /** Settings of the session; one that is undefined is the server's. */
  readonly settings: Readonly<Record<string, string | number | undefined>>;
}

/** A connection that is being opened. */
export interface Opening {
  /** Rejects when the server cannot be reached or refuses the login, and when it is lost before it is open. */
  readonly opened: Promise<Connection>;
  destroy(): void;
}

/** An error with a code that `problemOf` (sqlstate.ts) knows. */
export function connectionError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

const END_S = 2;

/** Opens a session; `onLost` is told once when it ends, for whatever reason. Sets no time limit: see dial.ts. */
export function openConnection(options: ConnectionOptions, onLost: (lost: Connection) => void): Opening {
  return new Session(options, onLost);
}

/** Where the driver was told to connect to. */
interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false;
}

class Session implements Connection, Opening {
  readonly sql: postgres.Sql;
  readonly opened: Promise<Connection>;
  pid = '';
  lost: Error | undefined;
  #socket: net.Socket | undefined;
  #attempts = 0;
  #refuse: (why: Error) => void = () => undefined;

  constructor(
    options: ConnectionOptions,
    readonly onLost: (lost: Connection) => void,
  ) {
    const driver = {
      ...driverOptions(options),
      socket: (target: Target) => this.#connect(target),
      onclose: () => this.#lose(),
    };
    this.sql = postgres(options.url, driver);
    this.opened = new Promise((resolve, reject) => {
      this.#refuse = reject;
      const query = this.sql<{ pid: string }[]>`select pg_backend_pid()::text as pid`;
      query.then((rows) => {
        // The driver's own: 1.16 x the rate of reads at one connection and half of their p99, 1.03 to 1.07 x at 64.
        stabilizeClasses(query.constructor, rows.constructor);
        this.pid = rows[0]!.pid;
        resolve(this);
      }, reject);
    });
  }

  get received(): number {
    return this.#socket?.bytesRead ?? 0;
  }

  get paused(): boolean {
    return this.#socket?.isPaused() === true;
  }

  destroy(why?: Error): void {
    this.#lose(why);
    this.#socket?.destroy();
  }

  async end(): Promise<void> {
    await this.sql.end({ timeout: END_S });
    this.destroy();
  }

  /** The driver's socket, each host of the URL once. */
  #connect({ host, port, path }: Target): net.Socket {
    const at = this.#attempts++;
    if (this.lost || at >= host.length) {
      const closed = connectionError(
        'CONNECTION_CLOSED',
        'the server closed the connection before it was open',
      );
      this.#lose(closed);
      throw this.lost;
    }
    const socket = path ? net.connect(path) : net.connect({ host: host[at]!, port: port[at] ?? port[0]! });
    // By its host the driver checks the name in the server's certificate.
    Object.assign(socket, { host: host[at], port: port[at] });
    this.#socket = socket;
    return socket;
  }

  #lose(why = connectionError('CONNECTION_CLOSED', 'the connection to the database was lost')): void {
    if (this.lost) return;
    this.lost = why;
    this.#refuse(why);
    // Rejects what the driver still holds; nothing is left to wait for.
    void this.sql.end({ timeout: 0 });
    this.onLost(this);
  }
}

function driverOptions({ settings }: ConnectionOptions) {
  return {
    max: 1,
    // Limits of the time are our own: the driver's end a connection within the hour, also one that is lent.
    connect_timeout: 0,
    idle_timeout: 0,
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => undefined,
    // Times stay the server's text: no Date is made on the way.
    types: {
      time: { to: 1184, from: [1082, 1114, 1184], serialize: String, parse: (text: string) => text },
    },
    connection: { application_name: 'plinth', TimeZone: 'UTC', ...settings },
  };
}
