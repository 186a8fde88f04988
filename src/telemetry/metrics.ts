import type { Registry } from 'prom-client';
import { createEventMetrics, type EventMetrics } from './event-metrics.js';
import {
  type CounterValue,
  counter,
  type Distribution,
  type Family,
  gauge,
  histogram,
  type LabelledMetric,
  SECONDS,
} from './instruments.js';

/** What the service counts of itself. */
export interface Metrics {
  readonly http: HttpMetrics;
  readonly db: DbMetrics;
  readonly events: EventMetrics;
  /** Credentials that were no good. Labels: scheme, reason. */
  readonly authFailures: LabelledMetric<CounterValue>;
  /**
   * All of it, with what Node tells of the process, as one registry; the same one each time. It is made, and prom-client
   * loaded, when it is first asked for: a service that nobody watches pays for neither.
   */
  readonly registry: () => Promise<Registry>;
}

/** Requests and their answers. Labels are from closed sets: `route` is the template of a route, never a path. */
export interface HttpMetrics {
  /** Seconds from the head of a request to its answer handed to the socket. Labels: method, route, status. */
  readonly duration: LabelledMetric<Distribution>;
  /** Bytes of content. Labels: method, route. */
  readonly received: LabelledMetric<CounterValue>;
  readonly sent: LabelledMetric<CounterValue>;
  readonly active: CounterValue;
  /** Requests that ended without an answer, or within it. Labels: route, reason. */
  readonly aborted: LabelledMetric<CounterValue>;
  /** Messages that never became a request, by the status they were answered. */
  readonly refused: LabelledMetric<CounterValue>;
}

/** What statements a pool of connections is for. */
export type PoolName = 'short' | 'search' | 'transaction' | 'stream';

export interface DbMetrics {
  readonly families: readonly Family[];
  /** Seconds from the moment a statement is asked for, waiting included. Labels: pool. */
  readonly duration: LabelledMetric<Distribution>;
  /** Labels: pool. */
  readonly failures: LabelledMetric<CounterValue>;
  /** Statements and streams that run or wait. Labels: pool. */
  readonly active: LabelledMetric<CounterValue>;
  /** Those of them that wait for a connection that is lent. Labels: pool. */
  readonly waiting: LabelledMetric<CounterValue>;
  /** Connections at most. Labels: pool. */
  readonly connections: LabelledMetric<CounterValue>;
  /** Statements that may run or wait. */
  readonly limit: CounterValue;
  /** Requests that share one statement. Labels: collection, operation. */
  readonly batch: LabelledMetric<Distribution>;
  /** Requests that wait for a statement to share. Labels: collection, operation. */
  readonly queued: LabelledMetric<CounterValue>;
}

const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Everything at zero. */
export function createMetrics(): Metrics {
  const db = createDbMetrics();
  const events = createEventMetrics();
  const active: CounterValue = { value: 0 };
  const http = {
    duration: histogram(
      'http_server_request_duration_seconds',
      'Time from the head of a request to its answer.',
      ['method', 'route', 'status'],
      SECONDS,
    ),
    received: counter('http_server_request_body_bytes_total', 'Bytes of request content.', [
      'method',
      'route',
    ]),
    sent: counter('http_server_response_body_bytes_total', 'Bytes of response content.', ['method', 'route']),
    aborted: counter(
      'http_server_aborted_requests_total',
      'Requests without a whole answer: the client left, stopped reading, or we failed half way.',
      ['route', 'reason'],
    ),
    refused: counter(
      'http_server_refused_messages_total',
      'Messages that were answered before they became a request: malformed, too large, too slow.',
      ['status'],
    ),
    active,
  };
  const authFailures = counter('plinth_auth_failures_total', 'Credentials that were no good.', [
    'scheme',
    'reason',
  ]);
  const families = [
    http.duration.family,
    http.received.family,
    http.sent.family,
    gauge('http_server_active_requests', 'Requests without an answer yet.', () => active.value),
    http.aborted.family,
    http.refused.family,
    authFailures.family,
    ...db.families,
    ...events.families,
  ];
  let registry: Promise<Registry> | undefined;
  return {
    http,
    db,
    events,
    authFailures,
    registry: () => {
      registry ??= import('./prometheus.js').then(({ registryOf }) => registryOf(families));
      return registry;
    },
  };
}

/** Requests that share statements, as they are counted and named. */
export interface Sharing {
  /** `read users`: the operation, and the collection where there is one. */
  readonly name: string;
  readonly size: Distribution;
  readonly queued: CounterValue;
}

/** The counts of one kind of shared statement. */
export function sharing({ batch, queued }: DbMetrics, operation: string, collection: string): Sharing {
  const labels = [collection, operation];
  return { name: `${operation} ${collection}`, size: batch.of(...labels), queued: queued.of(...labels) };
}

/** One registry of what several processes have counted, as each has told it; who has told nothing is left out. */
export async function registryOfAll(collect: () => Promise<readonly unknown[]>): Promise<Registry> {
  const told = (await collect()).filter((figures) => figures !== null && figures !== undefined);
  const { AggregatorRegistry } = await import('prom-client');
  return AggregatorRegistry.aggregate(told as object[]);
}

/** What concerns the database alone. */
export function createDbMetrics(): DbMetrics {
  const limit: CounterValue = { value: 0 };
  const labels = ['collection', 'operation'];
  const metrics = {
    duration: histogram(
      'plinth_db_statement_duration_seconds',
      'Time of a statement, transaction or stream, waiting for its connection included.',
      ['pool'],
      SECONDS,
    ),
    failures: counter('plinth_db_failures_total', 'Statements that failed.', ['pool']),
    active: counter('plinth_db_active_statements', 'Statements that run or wait.', ['pool'], 'gauge'),
    waiting: counter(
      'plinth_db_waiting_statements',
      'Transactions and streams that wait for a connection.',
      ['pool'],
      'gauge',
    ),
    connections: counter('plinth_db_connections_limit', 'Connections at most.', ['pool'], 'gauge'),
    batch: histogram('plinth_db_batch_size', 'Records in one shared statement.', labels, ROWS),
    queued: counter('plinth_db_queued_records', 'Records that wait for a shared statement.', labels, 'gauge'),
  };
  const queue = gauge('plinth_db_queue_limit', 'Statements that may run or wait.', () => limit.value);
  return { ...metrics, limit, families: [...Object.values(metrics).map(({ family }) => family), queue] };
}
