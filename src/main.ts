import { exitCodeOf, type UsageOf } from './cli/io.js';
import { exitWith, processIo } from './cli/process-io.js';
import { FEATURES } from './features.js';
import { serve } from './serve.js';

/** The command `plinth serve` as a program, without the code of the other commands. */
const args = process.argv.slice(2);
const io = processIo(FEATURES);

/** Loaded on demand: most runs print no usage. */
const usageText: UsageOf = async (command) => (await import('./cli/commands.js')).usageText(command);

void exitCodeOf(() => serve(args, io), io, args.includes('--json'), usageText).then(exitWith);
