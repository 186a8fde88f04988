import { join } from 'node:path';
import { ROOT } from './files.js';

/** Node 20 optimizes functions that tests run too seldom to be worth it; later versions have other compilers. */
const OPTIMIZES_EARLY = process.versions.node.startsWith('20.');

/** Options of Node for the processes that run tests: they collect garbage seldom, and optimize few functions. */
export const NODE_OPTIONS: readonly string[] = [
  `--require=${join(ROOT, 'test/support/no-loaders.cjs')}`,
  '--max-semi-space-size=64',
  '--single-threaded-gc',
  ...(OPTIMIZES_EARLY ? ['--interrupt-budget=1000000'] : []),
];
