import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type Peer, peerOf } from '../telemetry/database-address.js';
import { createDbMetrics, type DbMetrics } from '../telemetry/metrics.js';
import { nameOf, trackWait } from '../telemetry/wait-tracking.js';
import { type Lease, openExclusivePool } from './pool/exclusive-pool.js';
import { type Listening, listen } from './pool/listen.js';
import { openPipelinedPool } from './pool/pipelined-pool.js';
import { prepared, type Row, type Value } from './pool/prepared.js';
import { createQueueLimit, leasing } from './pool/queue-limit.js';

export type { Row, Value };

/** Runs one prepared statement; the same text is prepared once a connection. */
export type Run = (text: string, args: readonly Value[]) => Promise<Row[]>;

export interface Db {
  readonly run: Run;
  /** The same for statements whose plan and cost depend on what is asked for; they hold up no short ones. */
  readonly search: Run;
  /** Runs `work` in one transaction, rolled back when it throws. */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T>;
  /**
   * Hands the rows of a COPY to `consume` as bytes in its binary format. `settings` hold while it runs.
   * When `consume` throws, the statement is cancelled and its connection is free again.
   */
  copy(
    text: string,
    settings: Readonly<Record<string, string>>,
    consume: (rows: Readable) => Promise<void>,
  ): Promise<void>;
  /** Lets the server parse and describe a statement; throws when it does not fit the schema. */
  describe(text: string): Promise<void>;
  /** Listens to a channel on a connection of its own; gives the function that ends it, as `close` does. */
  listen(channel: string, listening: Listening): () => Promise<void>;
  /** Where all of this is counted. */
  readonly metrics: DbMetrics;
  readonly peer: Peer;
  close(): Promise<void>;
}

export interface DbOptions {
  /** Connections for short statements; more than two or three are a loss on one machine. */
  readonly connections: number;
  /** Connections for searches. */
  readonly searches: number;
  /** Connections for whole lists, opened when needed. */
  readonly streams: number;
  /** Statements and streams that may wait or run at once; one more is a 503. */
  readonly queue: number;
  readonly timeoutMs: number;
  /** Whether what these sessions write leaves events. */
  readonly events: boolean;
  /** Whether what these sessions delete leaves a tombstone. */
  readonly tombstones: boolean;
}

/** Who may wait for each connection that is lent. */
const WAITING = 32;
/** A service that starts describes all its statements at once, perhaps beside others that start. */
const DESCRIBE_MS = 30_000;

/**
 * What short statements are given: one plan for all arguments, since each is found by an index whatever they are,
 * and planning takes longer than running. A plan made while a table was small must not read it whole later.
 */
const SHORT = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' };

/** A search is planned for its term, and keeps the ids of a common one in memory: 1.2 to 1.4 times as fast. */
const SEARCH = { plan_cache_mode: 'force_custom_plan', work_mem: '64MB', jit: 'off' };

/** A server that is cut off from a client finds out, and lets go of what that client held. */
const KEPT_ALIVE = { tcp_keepalives_idle: 30, tcp_keepalives_interval: 10, tcp_keepalives_count: 3 };

/**
 * What the server ends by itself. A lock gets half of a statement's time, so that it is told from a slow statement. A
 * whole list has none of this: its reader may take as long as it likes, and what holds it up is no loss.
 */
function limitsOf(timeoutMs: number) {
  return {
    ...KEPT_ALIVE,
    statement_timeout: timeoutMs,
    lock_timeout: Math.max(1, Math.floor(timeoutMs / 2)),
    idle_in_transaction_session_timeout: timeoutMs,
    tcp_user_timeout: timeoutMs,
  };
}

/** Opens the pools. Connects lazily: a database that is away shows in the first statement. */
export function connect(url: string, options: DbOptions, metrics = createDbMetrics()): Db {
  const { connections, searches, streams, timeoutMs } = options;
  const limits = limitsOf(timeoutMs);
  const writing = {
    ...limits,
    ...SHORT,
    'plinth.tombstones': options.tombstones ? 'on' : 'off',
    'plinth.events': options.events ? 'on' : 'off',
  };
  const shared = openPipelinedPool({ url, timeoutMs, size: connections, settings: writing });
  const searching = openPipelinedPool({ url, timeoutMs, size: searches, settings: { ...limits, ...SEARCH } });
  const transactions = openExclusivePool({ url, timeoutMs, size: connections, settings: writing }, 'whole');
  const copies = openExclusivePool(
    { url, timeoutMs, size: streams, settings: { ...KEPT_ALIVE, jit: 'off' } },
    'silence',
  );
  const bounded = createQueueLimit(options.queue, metrics);
  const sizes = { short: connections, search: searches, transaction: connections, stream: streams };
  for (const [pool, size] of Object.entries(sizes)) metrics.connections.of(pool).value = size;
  const [short, search] = [bounded('short'), bounded('search')];
  // A place that is lent is taken for long: by a reader as slow as it likes, or by a batch.
  const transaction = bounded('transaction', connections * (1 + WAITING));
  const stream = bounded('stream', streams * (1 + WAITING));
  const listeners: (() => Promise<void>)[] = [];
  const lend = leasing(metrics);
  const cancel = async (pid: string): Promise<void> => {
    await shared.run((sql) => prepared(sql, 'select pg_cancel_backend($1)', [pid]));
  };

  return {
    run: (text, args) => short(nameOf(text), () => shared.run((sql) => prepared(sql, text, args))),
    search: (text, args) => search(nameOf(text), () => searching.run((sql) => prepared(sql, text, args))),
    transaction: (work) =>
      transaction(undefined, () => lend(transactions, 'transaction', (lease) => transact(lease, work))),
    copy: (text, settings, consume) =>
      stream(nameOf(text), () =>
        lend(copies, 'stream', (lease) => copy(lease, text, settings, consume, cancel)),
      ),
    describe: async (text) => {
      await shared.run((sql) => sql.unsafe(text).describe(), DESCRIBE_MS);
    },
    listen: (channel, listening) => {
      const end = listen(url, timeoutMs, channel, listening);
      listeners.push(end);
      return end;
    },
    metrics,
    peer: peerOf(url),
    close: async () => {
      const listening = listeners.map((end) => end());
      await Promise.all([shared.end(), searching.end(), transactions.end(), copies.end(), ...listening]);
    },
  };
}

async function transact<T>(lease: Lease, work: (run: Run) => Promise<T>): Promise<T> {
  const send: Run = async (text, args) => prepared(lease.use(), text, args);
  const run: Run = (text, args) => trackWait(nameOf(text), () => send(text, args), undefined);
  await run('begin', []);
  try {
    const result = await work(run);
    await run('commit', []);
    return result;
  } catch (error) {
    // On a connection that is lost the server has rolled back by itself, and the first error tells more.
    await run('rollback', []).catch(() => undefined);
    throw error;
  }
}

async function copy(
  lease: Lease,
  text: string,
  settings: Readonly<Record<string, string>>,
  consume: (rows: Readable) => Promise<void>,
  cancel: (pid: string) => Promise<void>,
): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await prepared(lease.use(), 'select set_config($1, $2, false)', [name, value]);
  }
  const query = lease.use().unsafe(text);
  const rows = await query.readable();
  // Rows that have come and those that the reader has not taken yet are no silence of the server.
  lease.isWaiting = () => !rows.readableEnded && !rows.destroyed && rows.readableLength === 0;
  try {
    await consume(rows);
  } catch (error) {
    // The server may sit in a write to us, where a cancel is not seen: read on until it is. When the cancel
    // fails, the rows come to their end by themselves. (The driver's own `cancel` does nothing once a query
    // has become a stream.)
    const cancelled = cancel(lease.pid).catch(() => undefined);
    await finished(rows.resume()).catch(() => undefined);
    // A cancel that came late would hit the next statement of this connection.
    await cancelled;
    throw error;
  } finally {
    // The driver pauses its socket when the stream is full and only a read resumes it; a stream that has
    // its end reads no more, and what follows the rows would never arrive.
    if (!lease.lost) rows._read(0);
    lease.isWaiting = () => true;
  }
}
