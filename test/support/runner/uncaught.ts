import { inspect } from 'node:util';
import type { Test } from '../test.js';

/**
 * Lets the test that began last fail by an error that no test has caught, instead of ending the process. tap would find
 * the exact test with async hooks, which cost a tenth of the CPU time of all tests (no-loaders.cjs).
 */
export function failByUncaughtErrors(root: Test): void {
  const running = new Set<Pick<Test, 'threw'>>([root]);
  const watch = (test: Test): void => {
    test.on('subtestStart', (subtest) => {
      running.add(subtest);
      watch(subtest as unknown as Test);
    });
    test.on('subtestEnd', (subtest) => running.delete(subtest));
  };
  watch(root);
  process.on('uncaughtException', (error) => {
    // The last summary of tap is already printed.
    if (root.results) process.stderr.write(`# failed: an error after the last test: ${inspect(error)}\n`);
    [...running].at(-1)!.threw(error);
  });
}
