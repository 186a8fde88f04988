import { clientSecret, loadEnvFile, webhookSecret } from '../config/config.js';
import type { ExitCode } from '../exit-error.js';
import type { Command } from './command.js';
import { COMMANDS, type CommandName, findCommand } from './commands.js';
import { exitCodeOf, UsageError } from './exit.js';
import { allHelp, helpOf } from './help.js';
import type { Io } from './io.js';
import { versionOf } from './version.js';

/** Runs one command. Throws what ends it with another exit code than 0 and 1; without one, the code is 0. */
// biome-ignore lint/suspicious/noConfusingVoidType: most commands have no result
type Run = (args: string[], io: Io) => Promise<ExitCode | void>;

/** Each loads only the code that it needs. */
const RUNS: Readonly<Record<CommandName, Run>> = {
  serve: async (args, io) => (await import('../serve.js')).serve(args, io),
  import: async (args, io) =>
    (await import('../features/transfer/import-command.js')).importCommand(args, io),
  export: async (args, io) =>
    (await import('../features/transfer/export-command.js')).exportCommand(args, io),
  backup: async (args, io) =>
    (await import('../features/embedded/backup-commands.js')).backupCommand(args, io),
  restore: async (args, io) =>
    (await import('../features/embedded/backup-commands.js')).restoreCommand(args, io),
  collections: async (args, io) => (await import('./collections.js')).collectionsCommand(args, io),
  migrate: async (args, io) => (await import('./migrate.js')).migrateCommand(args, io),
  keys: async (args, io) => (await import('./keys.js')).keysCommand(args, io),
  users: async (args, io) => (await import('./users.js')).usersCommand(args, io),
  clients: async (args, io) =>
    (await import('../features/issuer/client-commands.js')).clientsCommand(args, io),
  issuer: async (args, io) => (await import('../features/issuer/rotate-keys.js')).issuerCommand(args, io),
  login: async (args, io) => (await import('../features/issuer/login.js')).loginCommand(args, io),
  token: async (args, io) =>
    (await import('../features/issuer/login.js')).tokenCommand(args, io, clientSecret(io.env)),
  webhooks: async (args, io) =>
    (await import('../features/webhooks/listen-command.js')).webhooksCommand(args, io, webhookSecret(io.env)),
  'verify-webhook': async (args, io) =>
    (await import('../features/webhooks/verify-command.js')).verifyCommand(args, io, webhookSecret(io.env)),
  openapi: async (args, io) =>
    (await import('../features/api-docs/openapi-command.js')).openApiCommand(args, io),
  doctor: async (args, io) => (await import('../features/doctor/doctor.js')).doctorCommand(args, io),
  completion: async (args, io) =>
    (await import('../features/completion/completion.js')).completionCommand(args, io),
};

/**
 * Runs `plinth` with the arguments after its name. Returns the exit code; throws nothing and ends no process. Of `serve` it
 * returns when the service listens, which goes on until a signal ends the process.
 */
export function run(argv: readonly string[], io: Io): Promise<number> {
  const isNamed = argv.length > 0 && !argv[0]!.startsWith('-');
  const [word, args] = isNamed ? [argv[0]!, argv.slice(1)] : ['serve', [...argv]];
  return exitCodeOf(() => runCommand(word, args, isNamed, io), io, args.includes('--json'));
}

async function runCommand(word: string, args: string[], isNamed: boolean, io: Io): ReturnType<Run> {
  const name = findCommand(word);
  if (isVersion(name, args)) return void io.stdout.write(`plinth ${versionOf()}\n`);
  const isHelp = args.includes('--help') || args.includes('-h');
  if (word === 'help' || (isHelp && !isNamed)) return void io.stdout.write(allHelp());
  if (name === undefined) throw new UsageError(`there is no command ${word}`);
  if (isHelp) return void io.stdout.write(helpOf(name));
  if (name !== 'serve') {
    // The service's log survives a closed pipe; a command has nothing left to do.
    io.process?.exitWithoutReader();
    loadEnvFile(io.env, io.cwd);
  }
  return RUNS[name](args, io);
}

/** Whether the arguments request the version of Plinth: a command may have an option of that name. */
function isVersion(name: CommandName | undefined, args: readonly string[]): boolean {
  const forms = name === undefined ? [] : Object.values((COMMANDS[name] as Command).forms);
  return args.includes('--version') && !forms.some(({ options }) => 'version' in options);
}
