import { pino } from 'pino';

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

/** Where lines go: each `line` is whole, its end included. */
export interface Lines {
  write(line: string): unknown;
}

/** Lines of JSON, of a command to the standard error output: what it gives goes to the standard output. */
export function createLog(level: string, lines?: Lines): Log {
  return pino({ level, base: null }, lines ?? pino.destination({ dest: 2, sync: true }));
}
