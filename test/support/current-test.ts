import root, { type Test } from 'tap';

/** The test that the tests of a file belong to. Only run-renamed.ts names another one than the root. */
export let current: Test = root;

export function setCurrent(test: Test): void {
  current = test;
}
