import { join } from 'node:path';
import type { Test } from 'tap';
import { COPY, RUNS } from './renamed.js';

/** For all files of a run together. */
const TIMEOUT_MS = 400_000;

/** Runs files of tests a second time, with other names for the collections, one after the other in this process. */
export async function runRenamed(t: Test, run: string): Promise<void> {
  t.setTimeout(TIMEOUT_MS);
  const { setCurrent } = await import(join(COPY, 'support/current-test.js'));
  for (const file of RUNS[run]!)
    await t.test(file, async (t) => {
      setCurrent(t);
      await import(join(COPY, `${file}.test.js`));
    });
}
