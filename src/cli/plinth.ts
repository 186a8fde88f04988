#!/usr/bin/env node
import { webhookSecret } from '../config/config.js';
import { runCommand, UsageError } from './exit.js';

const USAGE = `usage: plinth [start]
       plinth import FILE.json [--as COLLECTION] [--rename FROM=TO]... [--strict]
       plinth keys create --label LABEL --subject SUBJECT --scopes SCOPE[,SCOPE]...
                          [--expires 90d|2030-01-01T00:00:00Z] [--certificate FILE]
       plinth keys list
       plinth keys revoke ID
       plinth verify-webhook (--header 'NAME: VALUE'... | --headers FILE)
                             [--secret-file FILE] [--tolerance SECONDS]
                             [--scheme standard-webhooks|x-signature] [--path PATH]

  start   runs the service
  import  loads records; see plinth import --help
  keys    manages API keys and client certificates in DATABASE_URL, or else in the database of DATA_DIR,
          also while a service runs on it. A new key is printed once; only its SHA-256 is stored
  verify-webhook  says whether the body on the standard input is signed with a secret in WEBHOOK_SECRET or the file
`;

type Command = (args: string[]) => Promise<unknown>;

const help: Command = async () => process.stdout.write(USAGE);

/** Each loads only the code that it needs. */
const COMMANDS = new Map<string, Command>([
  ['start', () => import('../main.js')],
  ['import', async (args) => (await import('./import.js')).importCommand(args)],
  ['keys', async (args) => (await import('./keys.js')).keysCommand(args, USAGE)],
  [
    'verify-webhook',
    async (args) => (await import('./verify-webhook.js')).verifyCommand(args, webhookSecret(), USAGE),
  ],
  ['help', help],
  ['--help', help],
]);

void runCommand(async () => {
  const [name = 'start', ...args] = process.argv.slice(2);
  const command = COMMANDS.get(name);
  if (!command || (name === 'start' && args.length > 0))
    throw new UsageError(`there is no command ${[name, ...args].join(' ')}`, USAGE);
  await command(args);
});
