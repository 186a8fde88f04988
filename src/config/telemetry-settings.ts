import { isIP } from 'node:net';
import type { Reader } from './env-reader.js';

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
/** The levels that include the lines of the access log. */
const ACCESS_LEVELS = ['info', 'debug', 'trace'];

/** Reads the settings of logs and metrics. */
export function readTelemetry({ read, optional, flag, faults }: Reader) {
  const accessLog = flag('ACCESS_LOG');
  const logLevel = read('LOG_LEVEL', accessLog ? 'info' : 'warn', `one of ${LEVELS.join(', ')}`, (text) =>
    LEVELS.find((level) => level === text),
  );
  if (accessLog && !ACCESS_LEVELS.includes(logLevel))
    faults.push(`LOG_LEVEL must be one of ${ACCESS_LEVELS.join(', ')} with ACCESS_LOG`);
  return {
    logLevel,
    /** One line for each request. */
    accessLog,
    /** Responses have a Server-Timing field. */
    serverTiming: flag('SERVER_TIMING'),
    /** A separate listener for metrics; undefined: /metrics of the service itself. */
    metricsPort: optional('METRICS_PORT', 'an integer from 0 to 65535', (text) =>
      /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined,
    ),
    metricsHost: read('METRICS_HOST', '127.0.0.1', 'an IP address', (text) =>
      isIP(text) ? text : undefined,
    ),
  };
}
