#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { clientSecret, loadEnvFile, webhookSecret } from '../config/config.js';
import { runCommand, UsageError } from './exit.js';
import { ALL_USAGE, type CommandName, USAGE } from './usage.js';

type Command = (args: string[]) => Promise<unknown>;

/** Each loads only the code that it needs. */
const COMMANDS: Readonly<Record<CommandName, Command>> = {
  // Reads the arguments itself.
  start: () => import('../main.js'),
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
};

function versionOf(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

void runCommand(async () => {
  const all = process.argv.slice(2);
  const named = all.length > 0 && !all[0]!.startsWith('-');
  const [name, args] = named ? [all[0]!, all.slice(1)] : ['start', all];
  if (args.includes('--version')) return void process.stdout.write(`plinth ${versionOf()}\n`);
  const isHelp = args.includes('--help') || args.includes('-h');
  if (name === 'help' || (isHelp && !named)) return void process.stdout.write(ALL_USAGE);
  if (!isCommand(name)) throw new UsageError(`there is no command ${name}`, ALL_USAGE);
  if (isHelp) return void process.stdout.write(USAGE[name]);
  loadEnvFile();
  await COMMANDS[name](args);
});
