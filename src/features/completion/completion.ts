import { parse } from '../../cli/arguments.js';
import { UsageError } from '../../cli/exit.js';
import type { Io } from '../../cli/io.js';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import { zshScript } from './zsh.js';

const SCRIPTS = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
]);

/** Prints the script that completes commands in a shell. Throws UsageError. */
export async function completionCommand(args: string[], io: Io): Promise<void> {
  const [shell, ...rest] = parse('completion', '', args).positionals;
  const script = SCRIPTS.get(shell ?? '');
  if (!script || rest.length > 0) throw new UsageError('completion needs bash, zsh or fish', 'completion');
  io.stdout.write(script());
}
