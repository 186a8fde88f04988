#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { shown } from '../actions/admin/keys.js';
import { readCredentialInput } from '../auth/credentials/credential-input.js';
import {
  createCredential,
  listCredentials,
  PAGE,
  revokeCredential,
} from '../auth/credentials/credentials.js';
import { ConfigError, readConfig, webhookSecret } from '../config/config.js';
import type { Db } from '../db/db.js';
import { EmbeddedError } from '../db/embedded/cluster.js';
import { DatabaseError } from '../db/migrate.js';
import { openDatabase } from '../db/open.js';
import { problemOf } from '../db/sqlstate.js';
import type { JsonObject } from '../json.js';
import { type Failure, Problem } from '../problem.js';
import { createLog } from '../telemetry/log.js';
import { parseUuid } from '../uuid.js';
import { VERIFY_USAGE, VerifyUsageError, verifyCommand } from './verify-webhook.js';

const USAGE = `usage: plinth [start]
       plinth import FILE.json [--as COLLECTION] [--rename FROM=TO]... [--strict]
       plinth keys create --label LABEL --subject SUBJECT --scopes SCOPE[,SCOPE]...
                          [--expires 90d|2030-01-01T00:00:00Z] [--certificate FILE]
       plinth keys list
       plinth keys revoke ID
${VERIFY_USAGE}

  start   runs the service
  import  loads records; plinth import --help tells the rest
  keys    manages API keys and client certificates in DATABASE_URL, or else in the database of DATA_DIR,
          also while a service runs on it. A new key is printed once; what is stored is its SHA-256
  verify-webhook  says whether the body on the standard input is signed with a secret in WEBHOOK_SECRET or the file
`;

/** sysexits.h: wrong usage, bad configuration. */
const EX_USAGE = 64;
const EX_CONFIG = 78;

/** The command line is at fault, told in one line and the usage. */
class UsageError extends Error {}

/** What was asked for cannot be done, told in one line. */
class CommandError extends Error {}

/** What a command line asks of the database. */
type Command = (db: Db) => Promise<void>;

async function main(): Promise<void> {
  const [noun = 'start', ...rest] = process.argv.slice(2);
  if (noun === 'start' && rest.length === 0) return void (await import('../main.js'));
  if (noun === 'import') {
    process.argv.splice(2, 1);
    return void (await import('./import.js'));
  }
  if (noun === '--help' || noun === 'help') return void process.stdout.write(USAGE);
  if (noun === 'verify-webhook') {
    process.exitCode = await verifyCommand(rest, webhookSecret(), process.stdin);
    return;
  }
  if (noun !== 'keys') throw new UsageError(`there is no command ${[noun, ...rest].join(' ')}`);
  const command = readCommand(rest);
  // An exit in order: it ends an embedded PostgreSQL, which a signal alone would leave behind.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  const config = readConfig();
  const database = await openDatabase(config, createLog(config.logLevel), { join: true });
  try {
    await command(database.db);
  } finally {
    await database.close();
  }
}

function readCommand(args: string[]): Command {
  const [verb, ...rest] = args;
  switch (verb) {
    case 'create':
      return create(rest);
    case 'list':
      if (rest.length > 0) throw new UsageError('list takes nothing more');
      return list;
    case 'revoke':
      return revoke(rest);
    default:
      throw new UsageError(verb === undefined ? 'keys what?' : `there is no command keys ${verb}`);
  }
}

function create(args: string[]): Command {
  const { label, subject, scopes, expires, certificate } = optionsOf(args);
  if (label === undefined || subject === undefined || scopes === undefined)
    throw new UsageError('create takes --label, --subject and --scopes');
  const input: JsonObject = { label, subject, scopes: scopes.split(',') };
  if (expires !== undefined) input.expires_at = timeOf(expires);
  if (certificate !== undefined) input.certificate = textOf(certificate);
  const { input: fields, key } = valid(() => readCredentialInput(input));
  return async (db) => {
    const { id } = await createCredential(db, fields);
    process.stdout.write(`id:   ${id}\n${key === undefined ? '' : `key:  ${key}\n`}`);
  };
}

function optionsOf(args: string[]) {
  const string = { type: 'string' } as const;
  const options = {
    label: string,
    subject: string,
    scopes: string,
    expires: string,
    certificate: string,
  };
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

const DAY_MS = 86_400_000;

/** A time as in RFC 3339, from one or from a number of days. */
function timeOf(text: string): string {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  return days === undefined ? text : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The options that members of a body stand for here. */
const OPTIONS: Readonly<Record<string, string>> = { expires_at: 'expires' };

function valid<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const failures = error.more.details as readonly Failure[];
    const told = failures.map(({ path, message }) => {
      const member = path.split('/')[1]!;
      return `--${OPTIONS[member] ?? member} ${message}`;
    });
    throw new UsageError(told.join('; '));
  }
}

/** One JSON object a line, the newest first. */
async function list(db: Db): Promise<void> {
  let after: string | undefined;
  do {
    const found = await listCredentials(db, after);
    const page = found.slice(0, PAGE);
    for (const credential of page) process.stdout.write(`${JSON.stringify(shown(credential))}\n`);
    after = found.length > PAGE ? page.at(-1)!.id : undefined;
  } while (after !== undefined);
}

function revoke(args: string[]): Command {
  const [text, ...rest] = args;
  const id = parseUuid(text ?? '');
  if (id === undefined || rest.length > 0) throw new UsageError('revoke takes the id of a key');
  return async (db) => {
    if ((await revokeCredential(db, id)) === undefined) throw new CommandError(`there is no key ${id}`);
  };
}

/** The message alone for what is told in one line; the stack of a fault of ours. */
function wordsOf(error: unknown): string {
  const told = [UsageError, VerifyUsageError, CommandError, DatabaseError, EmbeddedError].some(
    (type) => error instanceof type,
  );
  if (told || error instanceof Problem) return (error as Error | Problem).message;
  return problemOf(error)?.message ?? (error as Error)?.stack ?? String(error);
}

function codeOf(error: unknown): number {
  if (error instanceof ConfigError) return EX_CONFIG;
  return isUsage(error) ? EX_USAGE : 1;
}

function isUsage(error: unknown): boolean {
  return error instanceof UsageError || error instanceof VerifyUsageError;
}

main().catch((error: unknown) => {
  const lines = error instanceof ConfigError ? error.faults : [wordsOf(error)];
  for (const line of lines) process.stderr.write(`plinth: ${line}\n`);
  if (isUsage(error)) process.stderr.write(USAGE);
  process.exit(codeOf(error));
});
