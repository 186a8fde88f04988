import { parse } from './arguments.js';
import { bashScript } from './completion/bash.js';
import { fishScript } from './completion/fish.js';
import { zshScript } from './completion/zsh.js';
import { UsageError } from './exit.js';
import type { Io } from './io.js';

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
