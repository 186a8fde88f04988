import { pino } from 'pino';

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

/** A destination of lines. */
export interface Lines {
  /** `line` ends with a newline. */
  write(line: string): unknown;
}

/** A log of JSON lines; by default on the standard error output, since commands print results on the standard output. */
export function createLog(level: string, lines?: Lines): Log {
  return pino({ level, base: null }, lines ?? pino.destination({ dest: 2, sync: true }));
}
