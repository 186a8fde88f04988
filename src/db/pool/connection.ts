import type postgres from 'postgres';
import type { DatabaseServer } from '../../database-url/servers.js';
import type { SessionSettings } from '../session-settings.js';
import { createDriver, stabilizeClasses } from './postgres-patches.js';
import { connectionError, ServerSocket } from './server-socket.js';

export { connectionError };

export interface ConnectionOptions {
  readonly server: DatabaseServer;
  /** Whether a server that accepts no writes is refused. */
  readonly requiresPrimary?: boolean;
  readonly settings: SessionSettings;
  /** Whether a short message is sent before the server has acknowledged the one before: COPY would wait at its end. */
  readonly noDelay?: boolean;
  /** Runs before anything else does. */
  readonly onOpen?: ((sql: postgres.Sql) => Promise<void>) | undefined;
  readonly onNotification?: (channel: string, payload: string) => void;
}

const END_S = 2;

/** The server is a standby, or a primary that was demoted (SQLSTATE read_only_sql_transaction). */
export const READ_ONLY = '25006';

/**
 * One session, without time limits: see host-dialler.ts. The driver (postgres 3.4.9) does not survive the loss of a
 * connection: data queued for the socket prevents that connection from ever writing again
 * (https://github.com/porsager/postgres/issues/1066), a statement on a reserved connection that has closed ends the process
 * (https://github.com/porsager/postgres/issues/1208), and a connection that closes before it is open is reopened at once,
 * forever. So each driver instance has one socket, owned by this class, and is discarded with it.
 */
export class Connection {
  readonly sql: postgres.Sql;
  /** Rejects when the server is unreachable or refuses the login, and when the connection is lost before it is open. */
  readonly opened: Promise<Connection>;
  /** The server's process id, for a cancel request. */
  pid = '';
  /** Whether the server accepted no writes when the connection was opened. */
  isReadOnly = false;
  /** Why the connection was lost; undefined while it is usable. */
  lost: Error | undefined;
  #socket: ServerSocket | undefined;
  #reject: (reason: Error) => void = () => undefined;

  /** `onLost` is called once when the session ends, for whatever reason. */
  constructor(
    { server, settings, requiresPrimary = false, noDelay = false, onOpen, onNotification }: ConnectionOptions,
    readonly onLost: (lost: Connection) => void,
  ) {
    const driver = {
      ...driverOptions(server, settings),
      socket: () => this.#connect(server, noDelay),
      onclose: () => this.#lose(),
      // Missing in the driver's types; its own `listen` is based on it.
      ...(onNotification && { onnotify: onNotification }),
    };
    this.sql = createDriver(driver);
    this.opened = new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#open(requiresPrimary, onOpen).then(() => resolve(this), reject);
    });
  }

  /** The session, for a caller that may use it after its loss. Throws when it is lost. */
  use(): postgres.Sql {
    if (this.lost) throw this.lost;
    return this.sql;
  }

  /** Bytes received from the server. */
  get received(): number {
    return this.#socket?.received ?? 0;
  }

  /** Whether the driver has stopped reading, since its rows are not consumed. */
  get paused(): boolean {
    return this.#socket?.isPaused === true;
  }

  /** Closes it at once: statements in flight are rejected with `reason`, or as a lost connection. */
  destroy(reason?: Error): void {
    this.#lose(reason);
    this.#socket?.destroy();
  }

  /** Closes it after the statements in flight. */
  async end(): Promise<void> {
    await this.sql.end({ timeout: END_S });
    this.destroy();
  }

  async #open(requiresPrimary: boolean, onOpen: ConnectionOptions['onOpen']): Promise<void> {
    const query = this.sql<{ pid: string; isReadOnly: boolean }[]>`select pg_backend_pid()::text as pid,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "isReadOnly"`;
    const rows = await query;
    stabilizeClasses(query.constructor, rows.constructor);
    const { pid, isReadOnly } = rows[0]!;
    this.pid = pid;
    this.isReadOnly = isReadOnly;
    try {
      if (requiresPrimary && isReadOnly) throw connectionError(READ_ONLY, 'the server accepts no writes');
      await onOpen?.(this.sql);
    } catch (error) {
      this.destroy(error as Error);
      throw error;
    }
  }

  /** Opens the driver's socket, once. */
  async #connect(server: DatabaseServer, noDelay: boolean): Promise<unknown> {
    try {
      if (this.lost || this.#socket)
        throw connectionError('CONNECTION_CLOSED', 'the server closed the connection before it was open');
      this.#socket = new ServerSocket(server, noDelay);
      return await this.#socket.ready;
    } catch (error) {
      this.#lose(error as Error);
      throw this.lost;
    }
  }

  #lose(reason = connectionError('CONNECTION_CLOSED', 'the connection to the database was lost')): void {
    if (this.lost) return;
    this.lost = reason;
    this.#reject(reason);
    // Rejects the statements that the driver still holds; there is nothing to wait for.
    void this.sql.end({ timeout: 0 });
    this.onLost(this);
  }
}

/** Complete, so that the driver reads nothing from variables of the environment. */
function driverOptions(
  { host, port, path, user, password, database, session }: DatabaseServer,
  settings: SessionSettings,
) {
  const connection = { application_name: 'plinth', TimeZone: 'UTC', ...session, ...settings };
  return {
    host: [host],
    port: [port],
    path: path ?? '',
    user,
    pass: () => password,
    database,
    ssl: false,
    sslnegotiation: null,
    max: 1,
    // The pools have their own time limits: the driver's would close a connection within the hour, even one in use.
    connect_timeout: 0,
    idle_timeout: 0,
    max_lifetime: null,
    max_pipeline: 100,
    // Seconds of silence before the system probes a connection.
    keep_alive: 60,
    backoff: () => 0,
    debug: false,
    publications: 'alltables',
    prepare: true,
    fetch_types: false,
    onnotice: () => undefined,
    // Times remain the server's text, without a Date in between.
    types: {
      time: { to: 1184, from: [1082, 1114, 1184], serialize: String, parse: (text: string) => text },
    },
    connection: Object.fromEntries(
      Object.entries(connection).flatMap(([name, value]) =>
        // The driver leaves out a 0.
        value === undefined ? [] : [[name, String(value)]],
      ),
    ),
  };
}
