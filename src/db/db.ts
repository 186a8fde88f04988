import type { Readable } from 'node:stream';
import { type Engine, POSTGRESQL } from '../database-url/engine.js';
import { type Peer, peerOf } from '../database-url/servers.js';
import type { Sharing } from '../telemetry/instruments.js';
import { createDbMetrics, type DbMetrics } from '../telemetry/metrics.js';
import { nameOf, trackStatement } from '../telemetry/wait-tracking.js';
import { copy } from './pool/copy.js';
import { HostOrder } from './pool/host-order.js';
import { type Listening, listen } from './pool/notifications.js';
import { Pool } from './pool/pool.js';
import type { Lease } from './pool/pool-member.js';
import { prepared, type Row, unprepared, type Value } from './pool/prepared.js';
import { countedWait, createQueueLimit } from './pool/queue-limit.js';
import { SearchQueue } from './search-queue.js';
import { inTransaction, noteFeedEpoch } from './session.js';
import { poolSettings, type TriggerTraits } from './session-settings.js';

export type { Row, Value };

/** Runs one prepared statement; a connection prepares the same text once. */
export type Run = (text: string, args: readonly Value[]) => Promise<Row[]>;

/** Runs a statement in its turn. Calls with the same text and arguments share the statement while it waits. */
export type Search = (text: string, args: readonly Value[], sharing?: Sharing) => Promise<readonly Row[]>;

export interface Db {
  readonly run: Run;
  /** As `run`, for cheap statements that are composed for one request, and are not prepared. */
  readonly composed: Run;
  /** For statements whose plan and cost depend on their arguments, on connections of their own. */
  readonly search: Search;
  /** For searches that are composed for one request, and are not prepared. */
  readonly query: Search;
  /** Runs `work` in one transaction, which is rolled back when it throws. */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T>;
  /**
   * Passes the rows of a COPY to `consume`, in the binary format. `settings` apply while it runs. When `consume`
   * throws, the statement is cancelled and its connection is free again. A caller waits for its turn, and its statement has the
   * time of a search for the first rows; without a caller, it begins when a connection is free.
   */
  copy(
    text: string,
    settings: Readonly<Record<string, string>>,
    consume: (rows: Readable) => Promise<void>,
    caller?: string,
  ): Promise<void>;
  /** Listens to a channel on a dedicated connection; returns the function that ends this, as `close` does. */
  listen(channel: string, listening: Listening): () => Promise<void>;
  /** Must be called when the server turned out to accept no writes: all connections are opened anew. */
  noteReadOnly(): void;
  readonly metrics: DbMetrics;
  readonly peer: Peer;
  readonly engine: Engine;
  close(): Promise<void>;
}

export interface DbOptions extends TriggerTraits {
  /** Connections for short statements. */
  readonly connections: number;
  /** Connections for searches, and searches that run at once. */
  readonly searches: number;
  /** Connections for whole lists. */
  readonly streams: number;
  /**
   * Maximum number of statements and streams that wait or run, and of callers that wait for searches; one more is
   * refused with 503.
   */
  readonly queue: number;
  readonly timeoutMs: number;
  /** Of a search or a query, and of its wait. */
  readonly queryTimeoutMs?: number;
  readonly engine?: Engine;
}

/** Maximum number of callers that wait for each connection of an exclusive pool: leases take long. */
const MAX_WAITING = 32;

/** Opens the pools. Connects lazily: an unavailable database fails the first statement. */
export function connect(url: string, options: DbOptions, metrics = createDbMetrics()): Db {
  const { connections, searches, streams, timeoutMs } = options;
  const { events, tombstones, engine = POSTGRESQL } = options;
  const searchTimeoutMs = searchTimeoutOf(options);
  const settings = poolSettings({ timeoutMs, searchTimeoutMs, events, tombstones, engine });
  const hosts = new HostOrder(url);
  const open = (size: number, kind: keyof typeof settings, isExclusive: boolean) =>
    new Pool({
      hosts,
      timeoutMs,
      size,
      settings: settings[kind],
      onOpen: events && kind === 'short' ? noteFeedEpoch : undefined,
      isExclusive,
      timeLimit: kind === 'copy' ? 'silence' : 'whole',
    });
  const pipelined = open(connections, 'short', false);
  const searching = open(searches, 'search', false);
  const transactions = open(connections, 'short', true);
  const copies = open(streams, 'copy', true);
  const sizes = { short: connections, search: searches, transaction: connections, stream: streams };
  for (const [pool, size] of Object.entries(sizes)) metrics.connections.of(pool).value = size;
  const limited = createQueueLimit(options.queue, metrics);
  const [short, search] = [limited('short'), limited('search')];
  const transaction = limited('transaction', connections * (1 + MAX_WAITING));
  const stream = limited('stream', streams * (1 + MAX_WAITING));
  const inTurn = searchesInTurn(options);
  const streamInTurn = streamsInTurn(options);
  const counted = countedWait(metrics);
  const [send, sendComposed] = [onPool(pipelined), onPool(pipelined, unprepared)];
  const [sendSearch, sendQuery] = [onPool(searching), onPool(searching, unprepared)];
  const cancel = async (pid: string) => void (await send('select pg_cancel_backend($1::integer)', [pid]));
  const listeners: (() => Promise<void>)[] = [];
  return {
    run: (text, args) => short(text, () => send(text, args)),
    search: inTurn((text, args) => search(undefined, () => sendSearch(text, args))),
    composed: (text, args) => short(text, () => sendComposed(text, args)),
    query: inTurn((text, args) => search(undefined, () => sendQuery(text, args))),
    transaction: (work) =>
      transaction(undefined, () => counted(transactions, 'transaction', (lease) => transact(lease, work))),
    copy: (text, settings, consume, caller) =>
      streamInTurn(nameOf(text), consume, caller, (consume, firstRowMs) =>
        stream(text, () =>
          counted(copies, 'stream', (lease) => copy(lease, { text, settings, consume, firstRowMs, cancel })),
        ),
      ),
    listen: (channel, listening) => {
      const end = listen(hosts, timeoutMs, channel, listening);
      listeners.push(end);
      return end;
    },
    noteReadOnly: () => hosts.noteReadOnly(),
    metrics,
    peer: peerOf(url),
    engine,
    close: async () => {
      const pools = [pipelined, searching, transactions, copies].map((pool) => pool.end());
      await Promise.all([...listeners.map((end) => end()), ...pools]);
    },
  };
}

/** Sends statements on the connections of a pool that statements share. */
const onPool =
  (pool: Pool, send = prepared): Run =>
  (text, args) =>
    pool.run(({ connection: { sql } }) => send(sql, text, args));

/** Has searches wait for each other in one queue. */
function searchesInTurn(options: DbOptions): (run: Run) => Search {
  const queue = new SearchQueue<readonly Row[]>({
    concurrency: options.searches,
    deadlineMs: searchTimeoutOf(options),
    maxCallers: options.queue,
  });
  return (run) => (text, args, sharing) =>
    queue.submit(JSON.stringify([text, ...args]), sharing ?? nameOf(text), () => run(text, args));
}

type Consume = (rows: Readable) => Promise<void>;
type Stream = (consume: Consume, firstRowMs: number | undefined) => Promise<void>;

/** Has streams of callers wait for each other until their first rows. A slow reader counts against its caller until the end. */
function streamsInTurn(options: DbOptions) {
  const deadlineMs = searchTimeoutOf(options);
  const maxCallers = options.streams * MAX_WAITING;
  const queue = new SearchQueue<void>({
    concurrency: options.streams,
    deadlineMs,
    maxCallers,
    bound: 'lists',
  });
  let count = 0;
  return (name: string, consume: Consume, caller: string | undefined, send: Stream): Promise<void> => {
    if (caller === undefined) return send(consume, undefined);
    return new Promise((resolve, reject) => {
      const untilRows = (release: () => void) =>
        new Promise<void>((begun) => {
          const ended = send((rows) => {
            begun();
            return consume(rows);
          }, deadlineMs);
          void ended.then(resolve, reject).finally(() => {
            begun();
            release();
          });
        });
      queue.submit(String(count++), name, untilRows, caller).catch(reject);
    });
  };
}

const searchTimeoutOf = ({ timeoutMs, queryTimeoutMs = timeoutMs }: DbOptions) =>
  Math.min(timeoutMs, queryTimeoutMs);

async function transact<T>(lease: Lease, work: (run: Run) => Promise<T>): Promise<T> {
  const send: Run = async (text, args) => prepared(lease.connection.use(), text, args);
  const run: Run = (text, args) => trackStatement(text, () => send(text, args), undefined);
  return inTransaction(
    (text) => run(text, []),
    false,
    () => work(run),
  );
}
