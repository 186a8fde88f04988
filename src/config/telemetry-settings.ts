import { isIP } from 'node:net';
import type { Reader } from './env-reader.js';

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
/** The levels that include the lines of the access log. */
const ACCESS_LEVELS = ['info', 'debug', 'trace'];

/** Reads the settings of logs and metrics. */
export function readTelemetry({ read, optional, flag, faults }: Reader) {
  const metrics = optional(
    'METRICS_PORT',
    'a port from 0 to 65535, or an IP address and a port: 0.0.0.0:9464, [::]:9464',
    parseListener,
  );
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
    /** A separate listener for metrics; undefined: /metrics of the service itself. */
    metricsPort: metrics?.port,
    metricsHost: metrics?.host ?? LOOPBACK,
  };
}

const LOOPBACK = '127.0.0.1';

/** `9090`, `0.0.0.0:9090` or `[::]:9090`. */
function parseListener(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, host = LOOPBACK, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const isValid = isIP(address) === (address === host ? 4 : 6) && Number(digits) <= 65_535;
  return isValid ? { host: address, port: Number(digits) } : undefined;
}
