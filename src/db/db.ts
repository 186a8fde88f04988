import type { Readable } from 'node:stream';
import { setImmediate as tick } from 'node:timers/promises';
import type { Config } from '../config/config.js';
import { type Engine, POSTGRESQL } from '../database-url/engine.js';
import { type Peer, peerOf } from '../database-url/servers.js';
import { beyond } from '../errors/service-errors.js';
import type { Sharing } from '../telemetry/instruments.js';
import { createDbMetrics, type DbMetrics, type PoolName } from '../telemetry/metrics.js';
import { detached, nameOf, trackStatement, trackWait } from '../telemetry/wait-tracking.js';
import { databaseErrorOf } from './database-errors.js';
import { copy } from './pool/copy.js';
import { HostOrder } from './pool/host-order.js';
import { type Listening, listen } from './pool/notifications.js';
import { Pool } from './pool/pool.js';
import type { Lease } from './pool/pool-member.js';
import { prepared, preparedRows, type Row, unprepared, type Value } from './pool/prepared.js';
import { inTransaction, noteFeedEpoch } from './session.js';
import { type PoolTraits, poolSettings } from './session-settings.js';

export type { Row, Value };

/** Runs one prepared statement; a connection prepares the same text once. */
export type Run = (text: string, args: readonly Value[]) => Promise<Row[]>;

/** Runs a statement in its turn. Calls with the same text and arguments share the statement while it waits. */
export type Search = (text: string, args: readonly Value[], sharing?: Sharing) => Promise<readonly Row[]>;

export interface Db {
  readonly run: Run;
  /** As `run`: passes on each row as soon as it arrives. `onRow` must not throw. */
  eachRow(text: string, args: readonly Value[], onRow: (row: Row) => void): Promise<unknown>;
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
   * throws, the statement is cancelled and its connection is free again. A caller has all connections but one at most, and its
   * statement the time of a search for the first rows.
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

/** The settings of the pools: connections for short statements, for searches and for whole lists, and their time limits. */
export type DbOptions = Pick<
  Config,
  'dbConnections' | 'dbSearches' | 'dbStreams' | 'dbTimeoutMs' | 'tombstones' | 'events'
> &
  Partial<Pick<Config, 'queryTimeoutMs' | 'databaseEngine'>> & { readonly queue?: number };

/** Maximum number of statements and streams that wait or run, and of callers that wait for searches; one more is a 503. */
const MAX_QUEUE = 2000;

/** Maximum number of transactions or whole lists that wait for each connection: they take long. */
const MAX_WAITING = 32;

/** Opens the pools. Connects lazily: an unavailable database fails the first statement. */
export function connect(url: string, options: DbOptions, metrics = createDbMetrics()): Db {
  const { dbTimeoutMs: timeoutMs, databaseEngine: engine = POSTGRESQL, queue = MAX_QUEUE } = options;
  const searchTimeoutMs = Math.min(timeoutMs, options.queryTimeoutMs ?? timeoutMs);
  const hosts = new HostOrder(url);
  const pools = openPools(hosts, { ...options, queue, engine, timeoutMs, searchTimeoutMs });
  for (const [name, pool] of Object.entries(pools)) metrics.connections.of(name).value = pool.options.size;
  const limited = createQueueLimit(queue, metrics);
  const [short, search] = [limited('short'), limited('search')];
  const [transaction, stream] = [limited('transaction'), limited('stream')];
  const counted = countedWait(metrics);
  const onShort = (send: typeof prepared): Run => {
    const run = ([text, args]: Parameters<Run>) =>
      short(() => pools.short.run(({ connection }) => send(connection.sql, text, args)));
    return (...statement) => trackStatement(statement[0], run, statement);
  };
  const onSearch = (send: typeof prepared) =>
    sharedSearches(queue, (begin, text, args) =>
      pools.search.run(({ connection }) => {
        begin();
        return search(() => send(connection.sql, text, args));
      }),
    );
  const run = onShort(prepared);
  const cancel = async (pid: string) => void (await run('select pg_cancel_backend($1::integer)', [pid]));
  const listeners: (() => Promise<void>)[] = [];
  return {
    run,
    eachRow: (text, args, onRow) => onShort(preparedRows(onRow))(text, args),
    search: onSearch(prepared),
    composed: onShort(unprepared),
    query: onSearch(unprepared),
    transaction: (work) =>
      transaction(() => counted(pools.transaction, 'transaction', (lease) => transact(lease, work))),
    copy: (text, settings, consume, caller) => {
      const firstRowMs = caller === undefined ? undefined : searchTimeoutMs;
      const send = (lease: Lease) => copy(lease, { text, settings, consume, firstRowMs, cancel });
      const inTurn = () => counted(pools.stream, 'stream', (lease) => stream(() => send(lease)), caller);
      return trackStatement(text, inTurn, undefined);
    },
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
      const ended = Object.values(pools).map((pool) => pool.end());
      await Promise.all([...listeners.map((end) => end()), ...ended]);
    },
  };
}

function openPools(hosts: HostOrder, options: DbOptions & PoolTraits & { readonly queue: number }) {
  const { queue, timeoutMs, searchTimeoutMs, events } = options;
  const settings = poolSettings(options);
  const shared = { hosts, connectMs: timeoutMs, timeoutMs, timeLimit: 'whole' } as const;
  const few = (size: number) => ({ ...shared, size, isExclusive: true, maxWaiting: MAX_WAITING * size });
  const onOpen = events ? noteFeedEpoch : undefined;
  const short = {
    ...few(options.dbConnections),
    settings: settings.short,
    onOpen,
    bound: 'statements',
  } as const;
  return {
    short: new Pool({ ...short, isExclusive: false, maxWaiting: queue }),
    search: new Pool({
      ...{ ...few(options.dbSearches), settings: settings.search, bound: 'searches' },
      ...{ timeoutMs: searchTimeoutMs, maxWaiting: queue },
    }),
    transaction: new Pool(short),
    stream: new Pool({
      ...few(options.dbStreams),
      settings: settings.copy,
      bound: 'lists',
      timeLimit: 'silence',
    }),
  };
}

/** Limits and measures the work of a pool. */
type Limited = <T>(work: () => Promise<T>) => Promise<T>;

/** Limits the statements that run or wait at once, in all pools together, and refuses more with 503. */
function createQueueLimit(max: number, metrics: DbMetrics): (pool: PoolName) => Limited {
  let count = 0;
  metrics.limit.value = max;
  return (pool) => {
    const duration = metrics.duration.of(pool);
    const failures = metrics.failures.of(pool);
    const active = metrics.active.of(pool);
    return async (work) => {
      if (count >= max) throw beyond('statements');
      const since = performance.now();
      count++;
      active.value++;
      try {
        return await work();
      } catch (error) {
        // Errors of the work itself are not failures of the database: a Problem, a client that has left.
        if (error instanceof Error && databaseErrorOf(error)) failures.value++;
        throw error;
      } finally {
        count--;
        active.value--;
        duration.observe((performance.now() - since) / 1000);
      }
    };
  };
}

/** Runs work on a connection of a pool, alone; the wait for it is counted, and belongs to the current request. */
function countedWait({ waiting }: DbMetrics) {
  return <T>(pool: Pool, name: PoolName, work: (lease: Lease) => Promise<T>, caller?: string) => {
    const gauge = waiting.of(name);
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const running = pool.run((lease) => {
      begin();
      return work(lease);
    }, caller);
    gauge.value++;
    void trackWait('connect', () => begun, undefined).then(() => gauge.value--);
    return running.finally(begin);
  };
}

let waitingCallers = 0;

/** Callers, in this process, that wait for their search to begin. */
export const waitingSearches = (): number => waitingCallers;

/** A search that waits, and the number of its callers. */
interface WaitingSearch {
  callers: number;
  readonly rows: Promise<readonly Row[]>;
}

/**
 * Has equal searches share one while it waits, so that an expensive one that many request runs seldom. `run` calls `begin` when
 * it has a connection. Refuses more than `maxCallers` with 503.
 */
function sharedSearches(
  maxCallers: number,
  run: (begin: () => void, ...search: Parameters<Run>) => Promise<Row[]>,
): Search {
  const waiting = new Map<string, WaitingSearch>();
  const start = (key: string, sharing: Sharing | undefined, ...search: Parameters<Run>): WaitingSearch => {
    let begun = false;
    const begin = (): void => {
      if (begun) return;
      begun = true;
      waiting.delete(key);
      waitingCallers -= made.callers;
      sharing?.size.observe(1);
      if (sharing) sharing.queued.value--;
    };
    // At the end of the tick, so that equal calls of one tick share it.
    const rows = detached(
      () =>
        tick()
          .then(() => run(begin, ...search))
          .finally(begin),
      undefined,
    );
    const made = { callers: 0, rows };
    waiting.set(key, made);
    if (sharing) sharing.queued.value++;
    return made;
  };
  const submit = async (text: string, args: readonly Value[], sharing: Sharing | undefined) => {
    if (waitingCallers >= maxCallers) throw beyond('searches');
    const key = JSON.stringify([text, ...args]);
    const shared = waiting.get(key) ?? start(key, sharing, text, args);
    shared.callers++;
    waitingCallers++;
    return shared.rows;
  };
  return (text, args, sharing) =>
    trackWait(sharing?.name ?? nameOf(text), () => submit(text, args, sharing), undefined);
}

async function transact<T>(lease: Lease, work: (run: Run) => Promise<T>): Promise<T> {
  const send: Run = async (text, args) => prepared(lease.connection.use(), text, args);
  const run: Run = (text, args) => trackStatement(text, () => send(text, args), undefined);
  return inTransaction(
    (text) => run(text, []),
    () => work(run),
  );
}
