import type { FamilyValues } from './exposition.js';
import { counter, type Family, histogram, SECONDS, single } from './instruments.js';

/** The metrics of the service: those of the core, and what its features add. Labels have closed sets of values: `route` is the template of a route, never a path. */
export type Metrics = Readonly<ReturnType<typeof createMetrics>>;

/** Gives the values of metrics at the time of the call. */
export type Scrape = () => Promise<readonly FamilyValues[]>;

/** The purpose of the statements of a pool of connections. */
export type PoolName = 'short' | 'search' | 'transaction' | 'stream';

/** Upper bounds of the sizes of shared statements. */
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export function createMetrics() {
  const [http, db, events] = [createHttpMetrics(), createDbMetrics(), createEventMetrics()];
  const authFailures = counter('plinth_auth_failures_total', 'Credentials that were refused.', [
    'scheme',
    'reason',
  ]);
  const families = [http, { authFailures }, db, events].flatMap((metrics): Family[] =>
    Object.values(metrics).map(({ family }) => family),
  );
  let opening: Promise<() => FamilyValues[]> | undefined;
  return {
    http,
    db,
    events,
    authFailures,
    /** Adds metrics of a feature. Throws TypeError for a name that another metric has. */
    add: (added: readonly Family[]) => {
      for (const family of added) {
        if (families.some(({ name }) => name === family.name))
          throw new TypeError(`several metrics have the name ${family.name}`);
        families.push(family);
      }
    },
    /**
     * The values of all metrics, and of those of the process, which are measured from the first call on: a service without scrapes
     * does not pay for them.
     */
    scrape: async (): Promise<readonly FamilyValues[]> => {
      opening ??= import('./process-metrics.js').then(({ openProcessMetrics }) => openProcessMetrics());
      const ofProcess = (await opening)();
      return [...ofProcess, ...families.map((family) => ({ ...family, samples: family.samples() }))];
    },
  };
}

export type HttpMetrics = Readonly<ReturnType<typeof createHttpMetrics>>;

function createHttpMetrics() {
  return {
    /** From the head of a request to its response handed to the socket. */
    duration: histogram(
      'http_server_request_duration_seconds',
      'Time from the head of a request to its response.',
      ['method', 'route', 'status'],
      SECONDS,
    ),
    received: counter('http_server_request_body_bytes_total', 'Bytes of request content.', [
      'method',
      'route',
    ]),
    sent: counter('http_server_response_body_bytes_total', 'Bytes of response content.', ['method', 'route']),
    active: single('http_server_active_requests', 'Requests without a response yet.', 'gauge'),
    aborted: counter(
      'http_server_aborted_requests_total',
      'Requests without a complete response: the client left or stopped reading, or an error interrupted it.',
      ['route', 'reason'],
    ),
    versions: counter('http_server_version_requests_total', 'Requests for a version of the API.', [
      'version',
    ]),
    refused: counter(
      'http_server_refused_messages_total',
      'Messages that never became a request: malformed, too large, too slow.',
      ['status'],
    ),
  };
}

export type EventMetrics = Readonly<ReturnType<typeof createEventMetrics>>;

/** Metrics of the readers of the event feed. */
function createEventMetrics() {
  return {
    readers: single('plinth_event_readers', 'Event streams and requests that wait for events.', 'gauge'),
    ended: counter('plinth_event_streams_ended_total', 'Event streams that ended.', ['reason']),
  };
}

export type DbMetrics = Readonly<ReturnType<typeof createDbMetrics>>;

/** Only the metrics of the database. */
export function createDbMetrics() {
  const labels = ['collection', 'operation'];
  return {
    duration: histogram(
      'plinth_db_statement_duration_seconds',
      'Time of a statement, transaction or stream, including the wait for its connection.',
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
    connections: counter('plinth_db_connections_limit', 'Max connections.', ['pool'], 'gauge'),
    batch: histogram('plinth_db_batch_size', 'Records in one shared statement.', labels, ROWS),
    queued: counter('plinth_db_queued_records', 'Records that wait for a shared statement.', labels, 'gauge'),
    limit: single('plinth_db_queue_limit', 'Max statements that run or wait.', 'gauge'),
  };
}
