import root from 'tap';
import type { TestFile } from './files.js';
import { runHere } from './worker.js';

/** Runs the one file that the argument describes. */
await runHere(root, JSON.parse(process.argv[2]!) as TestFile);
