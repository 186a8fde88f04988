#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { clientSecret, loadEnvFile, webhookSecret } from '../config/config.js';
import type { Command } from './command.js';
import { COMMANDS, type CommandName, findCommand } from './commands.js';
import { runCommand, UsageError } from './exit.js';
import { allHelp, helpOf } from './help.js';

type Run = (args: string[]) => Promise<unknown>;

/** Each loads only the code that it needs. */
const RUNS: Readonly<Record<CommandName, Run>> = {
  // Reads the arguments itself.
  serve: () => import('../main.js'),
  import: async (args) => (await import('./import.js')).importCommand(args),
  export: async (args) => (await import('./export.js')).exportCommand(args),
  collections: async (args) => (await import('./collections.js')).collectionsCommand(args),
  migrate: async (args) => (await import('./migrate.js')).migrateCommand(args),
  keys: async (args) => (await import('./keys.js')).keysCommand(args),
  users: async (args) => (await import('./users.js')).usersCommand(args),
  clients: async (args) => (await import('./clients.js')).clientsCommand(args),
  issuer: async (args) => (await import('./issuer.js')).issuerCommand(args),
  login: async (args) => (await import('./login.js')).loginCommand(args),
  token: async (args) => (await import('./login.js')).tokenCommand(args, clientSecret()),
  webhooks: async (args) => (await import('./webhooks.js')).webhooksCommand(args, webhookSecret()),
  'verify-webhook': async (args) =>
    (await import('./verify-webhook.js')).verifyCommand(args, webhookSecret()),
  openapi: async (args) => (await import('./openapi.js')).openApiCommand(args),
  doctor: async (args) => (await import('./doctor.js')).doctorCommand(args),
  completion: async (args) => (await import('./completion.js')).completionCommand(args),
};

function versionOf(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Whether the arguments request the version of Plinth: a command may have an option of that name. */
function isVersion(name: CommandName | undefined, args: readonly string[]): boolean {
  const forms = name === undefined ? [] : Object.values((COMMANDS[name] as Command).forms);
  return args.includes('--version') && !forms.some(({ options }) => 'version' in options);
}

const all = process.argv.slice(2);
const isNamed = all.length > 0 && !all[0]!.startsWith('-');
const [word, args] = isNamed ? [all[0]!, all.slice(1)] : ['serve', all];

void runCommand(
  async () => {
    const name = findCommand(word);
    if (isVersion(name, args)) return void process.stdout.write(`plinth ${versionOf()}\n`);
    const isHelp = args.includes('--help') || args.includes('-h');
    if (word === 'help' || (isHelp && !isNamed)) return void process.stdout.write(allHelp());
    if (name === undefined) throw new UsageError(`there is no command ${word}`);
    if (isHelp) return void process.stdout.write(helpOf(name));
    // The service's log survives a closed pipe; a command has nothing left to do.
    if (name !== 'serve') process.stdout.on('error', () => process.exit(1));
    loadEnvFile();
    await RUNS[name](args);
  },
  { json: args.includes('--json') },
);
