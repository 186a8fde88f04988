import { exitCodeOf } from './cli/exit.js';
import { exitWith, processIo } from './cli/process-io.js';
import { serve } from './serve.js';

/** The command `plinth serve` as a program, without the code of the other commands. */
const args = process.argv.slice(2);
const io = processIo();

void exitCodeOf(() => serve(args, io), io, args.includes('--json')).then(exitWith);
