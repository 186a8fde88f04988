import { readFileSync } from 'node:fs';
import { shown } from '../api/admin.js';
import { readCredentialInput } from '../api/key-input.js';
import {
  createCredential,
  listCredentials,
  PAGE,
  revokeCredential,
} from '../auth/credentials/credentials.js';
import { knownScopes } from '../auth/known-scopes.js';
import type { Config } from '../config/config.js';
import type { Db } from '../db/db.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { type Failure, Problem } from '../errors/problem.js';
import { ExitError } from '../exit-error.js';
import type { JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import { parse, subcommandOf } from './arguments.js';
import { InputError, UsageError } from './exit.js';
import { configOf, fileOf, type Io } from './io.js';
import { ListOutput, print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { withDatabase } from './with-database.js';

type Work = (db: Db) => Promise<void>;

/** Creates, lists and revokes credentials. Throws UsageError before the database is opened, ExitError after. */
export async function keysCommand(args: string[], io: Io): Promise<void> {
  const config = configOf(io);
  const { verb, rest } = subcommandOf(ACCESS_COMMANDS, 'keys', args);
  const verbs: Record<typeof verb, () => Work | Promise<Work>> = {
    create: async () => create(rest, io, await scopesOfService(config)),
    list: () => list(rest, io),
    revoke: () => revoke(rest, io),
  };
  const work = await verbs[verb]();
  await withDatabase(io, ({ db }) => work(db), config);
}

async function scopesOfService(config: Config): Promise<readonly string[]> {
  return knownScopes(resourcesOf(await loadDeclarations(config)));
}

function create(args: string[], io: Io, known: readonly string[]): Work {
  const { label, subject, scopes, expires, certificate, json } = parse(
    ACCESS_COMMANDS,
    'keys',
    'create',
    args,
  ).values;
  const body: JsonObject = { label, subject, scopes: scopes.split(',') };
  if (expires !== undefined) body.expires_at = timeOf(expires);
  if (certificate !== undefined) body.certificate = textOf(io, certificate);
  const { input, key } = checked(body, known);
  return async (db) => {
    const { id } = await createCredential(db, input);
    const text = key === undefined ? '' : `key:  ${key}\n`;
    print(io, json, { id, ...(key === undefined ? {} : { key }) }, `id:   ${id}\n${text}`);
  };
}

const DAY_MS = 86_400_000;

/** A time as in RFC 3339, from one or from a number of days. */
function timeOf(text: string): string {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  return days === undefined ? text : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}

function textOf(io: Io, file: string): string {
  try {
    return readFileSync(fileOf(io, file), 'utf8');
  } catch (error) {
    throw new InputError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Options whose names differ from those of the fields. */
const OPTIONS: Readonly<Record<string, string>> = { expires_at: 'expires' };

function checked(body: JsonObject, known: readonly string[]): ReturnType<typeof readCredentialInput> {
  try {
    return readCredentialInput(body, known);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const reasons = (error.more.details as readonly Failure[]).map(({ path, message }) => {
      const field = path.split('/')[1]!;
      return `--${OPTIONS[field] ?? field} ${message}`;
    });
    throw new UsageError(reasons.join('; '), 'keys');
  }
}

/** The newest first. */
function list(args: string[], io: Io): Work {
  const output = new ListOutput(io, parse(ACCESS_COMMANDS, 'keys', 'list', args).values.json);
  return async (db) => {
    let after: string | undefined;
    do {
      const found = await listCredentials(db, after);
      const page = found.slice(0, PAGE);
      for (const credential of page) output.add(shown(credential));
      after = found.length > PAGE ? page.at(-1)!.id : undefined;
    } while (after !== undefined);
    output.end();
  };
}

function revoke(args: string[], io: Io): Work {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'keys', 'revoke', args);
  const [text = '', ...rest] = positionals;
  const id = parseUuid(text);
  if (id === undefined || rest.length > 0) throw new UsageError('keys revoke needs the id of a key', 'keys');
  return async (db) => {
    if ((await revokeCredential(db, id)) === undefined) throw new ExitError(`there is no key ${id}`);
    print(io, values.json, { id }, '');
  };
}
