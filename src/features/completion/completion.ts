import { parse } from '../../cli/arguments.js';
import type { Commands } from '../../cli/command.js';
import { UsageError } from '../../cli/exit.js';
import type { Io } from '../../cli/io.js';
import { bashScript } from './bash.js';
import { wordsOf } from './command-words.js';
import { COMMANDS } from './commands.js';
import { fishScript } from './fish.js';
import { zshScript } from './zsh.js';

const SCRIPTS = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
]);

/** Prints the script that completes commands in a shell. Throws UsageError. */
export async function completionCommand(args: string[], io: Io, commands: Commands): Promise<void> {
  const [shell, ...rest] = parse(COMMANDS, 'completion', '', args).positionals;
  const script = SCRIPTS.get(shell ?? '');
  if (!script || rest.length > 0) throw new UsageError('completion needs bash, zsh or fish', 'completion');
  io.stdout.write(script(wordsOf(commands)));
}
