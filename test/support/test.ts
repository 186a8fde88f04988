import root, { type Test } from 'tap';

export type { Test };

/**
 * The test to which the tests of a file belong: `import t from './test.js'` at its top. It is tap's root in a
 * process that runs one file, and a subtest of it in a process that runs many (worker.ts).
 */
let current: Test = root;

export { current as default };

/** The compiled file whose tests run. */
let file = process.argv[1] ?? '';

export const currentFile = (): string => file;

/** Lets the tests of a file belong to `test`. */
export function beginFile(test: Test, path: string): void {
  current = test;
  file = path;
}

const closers: (() => unknown)[] = [];

/** Calls `close` when this process has run all its files. */
export function atEnd(close: () => unknown): void {
  if (closers.length === 0) root.teardown(closeAll);
  closers.push(close);
}

async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}
