import { loadEnvFile } from '../config/config.js';
import { versionOf } from '../version.js';
import type { Command, RunnableCommand } from './command.js';
import { allCommands, findCommand, usageText } from './commands.js';
import { allHelp, helpOf } from './help.js';
import { exitCodeOf, type Io, UsageError } from './io.js';

type Run = RunnableCommand['run'];

/**
 * Runs `plinth` with the arguments after its name. Returns the exit code; throws nothing and ends no process. Of `serve` it
 * returns when the service listens, which goes on until a signal ends the process.
 */
export function run(argv: readonly string[], io: Io): Promise<number> {
  const isNamed = argv.length > 0 && !argv[0]!.startsWith('-');
  const [word, args] = isNamed ? [argv[0]!, argv.slice(1)] : ['serve', [...argv]];
  return exitCodeOf(() => runCommand(word, args, isNamed, io), io, args.includes('--json'), usageText);
}

async function runCommand(word: string, args: string[], isNamed: boolean, io: Io): ReturnType<Run> {
  const [name, command] = (await findCommand(word)) ?? [];
  const isHelp = word === 'help' || args.includes('--help') || args.includes('-h');
  const asksVersion = isVersion(command, args);
  // The service's log survives a closed pipe; a command has nothing left to do.
  if (isHelp || asksVersion || name !== 'serve') io.process?.exitWithoutReader();
  if (asksVersion) return void io.stdout.write(`plinth ${versionOf()}\n`);
  if (word === 'help' || (isHelp && !isNamed)) return void io.stdout.write(allHelp(await allCommands()));
  if (name === undefined || command === undefined) throw new UsageError(`there is no command ${word}`);
  if (isHelp) return void io.stdout.write(helpOf(name, command));
  if (name !== 'serve') loadEnvFile(io.env, io.cwd);
  return command.run(args, io, allCommands);
}

/** Whether the arguments request the version of Plinth: a command may have an option of that name. */
function isVersion(command: Command | undefined, args: readonly string[]): boolean {
  const forms = Object.values(command?.forms ?? {});
  return args.includes('--version') && !forms.some(({ options }) => 'version' in options);
}
