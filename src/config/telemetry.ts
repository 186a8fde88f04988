import { isIP } from 'node:net';
import type { Reader } from './env-reader.js';

/** What the service tells of itself. */
export interface ObserveConfig {
  readonly logLevel: string;
  /** A line a request. */
  readonly accessLog: boolean;
  /** Answers tell how long they took. */
  readonly serverTiming: boolean;
  /** A listener for metrics alone; undefined: /metrics of the service itself. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
}

/** Reads the settings of logs, metrics and timing. The lines of an access log are `info`: with it that is the default. */
export function readObserve({ read, flag, faults }: Reader): ObserveConfig {
  const accessLog = flag('ACCESS_LOG');
  const logLevel = read('LOG_LEVEL', accessLog ? 'info' : 'warn', `one of ${LEVELS.join(', ')}`, (text) =>
    LEVELS.includes(text) ? text : undefined,
  );
  if (accessLog && !TALKATIVE.includes(logLevel))
    faults.push(`LOG_LEVEL takes one of ${TALKATIVE.join(', ')} with ACCESS_LOG`);
  return {
    logLevel,
    accessLog,
    serverTiming: flag('SERVER_TIMING'),
    metricsPort: read<number | undefined>('METRICS_PORT', undefined, 'an integer from 0 to 65535', (text) =>
      /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined,
    ),
    metricsHost: read('METRICS_HOST', '127.0.0.1', 'an IP address', (text) =>
      isIP(text) ? text : undefined,
    ),
  };
}

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
const TALKATIVE = ['info', 'debug', 'trace'];
