import { pino } from 'pino';
import { readableLines } from './readable-lines.js';

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;

/** A destination of lines. */
export interface Lines {
  /** `line` ends with a newline. */
  write(line: string): unknown;
}

/** Commands print results on the standard output. */
function standardError(): Lines {
  const lines = pino.destination({ dest: 2, sync: true });
  return process.stderr.isTTY ? readableLines(lines) : lines;
}

/** A log of JSON lines, readable ones on a terminal; by default on the standard error output. */
export function createLog(level: string, lines?: Lines): Log {
  return pino({ level, base: null }, lines ?? standardError());
}
