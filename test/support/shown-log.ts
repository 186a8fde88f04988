import { createLog, type Log } from '../../src/telemetry/log.js';
import type { Test } from './test.js';

/** A log of errors for a part of the service that a test uses alone. If the test fails, it prints them, which a 503 hides. */
export function shownLog(t: Pick<Test, 'teardown' | 'passing' | 'comment'>): Log {
  const lines: string[] = [];
  t.teardown(() => {
    if (!t.passing()) t.comment(lines.join(''));
  });
  return createLog('error', { write: (line) => lines.push(line) });
}
