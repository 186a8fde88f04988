import { readFileSync } from 'node:fs';
import { shown } from '../actions/admin/keys.js';
import { readCredentialInput } from '../auth/credentials/credential-input.js';
import {
  createCredential,
  listCredentials,
  PAGE,
  revokeCredential,
} from '../auth/credentials/credentials.js';
import { knownScopes } from '../auth/known-scopes.js';
import { type Config, readConfig } from '../config/config.js';
import type { Db } from '../db/db.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { type Failure, Problem } from '../errors/problem.js';
import { ExitError } from '../exit-error.js';
import type { JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import { parse, UsageError } from './exit.js';
import { USAGE } from './usage.js';
import { withDatabase } from './with-database.js';

type Work = (db: Db) => Promise<void>;

/** Creates, lists and revokes credentials. Throws UsageError before the database is opened, ExitError after. */
export async function keysCommand([verb, ...args]: string[]): Promise<void> {
  const config = readConfig();
  const verbs = new Map<string | undefined, () => Work | Promise<Work>>([
    ['create', async () => create(args, await scopesOfService(config))],
    ['list', () => list(args)],
    ['revoke', () => revoke(args)],
  ]);
  const prepare = verbs.get(verb);
  if (!prepare)
    throw new UsageError(
      verb === undefined
        ? 'keys needs a subcommand: create, list or revoke'
        : `there is no command keys ${verb}: there are create, list and revoke`,
      USAGE.keys,
    );
  const work = await prepare();
  await withDatabase(({ db }) => work(db), config);
}

async function scopesOfService(config: Config): Promise<readonly string[]> {
  return knownScopes(resourcesOf(await loadDeclarations(config)));
}

function create(args: string[], known: readonly string[]): Work {
  const string = { type: 'string' } as const;
  const options = { label: string, subject: string, scopes: string, expires: string, certificate: string };
  const { label, subject, scopes, expires, certificate } = parse({ args, options }, USAGE.keys).values;
  if (label === undefined || subject === undefined || scopes === undefined)
    throw new UsageError('keys create needs --label, --subject and --scopes', USAGE.keys);
  const body: JsonObject = { label, subject, scopes: scopes.split(',') };
  if (expires !== undefined) body.expires_at = timeOf(expires);
  if (certificate !== undefined) body.certificate = textOf(certificate);
  const { input, key } = checked(body, known);
  return async (db) => {
    const { id } = await createCredential(db, input);
    process.stdout.write(`id:   ${id}\n${key === undefined ? '' : `key:  ${key}\n`}`);
  };
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
    throw new ExitError(`${file} cannot be read: ${(error as Error).message}`);
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
    throw new UsageError(reasons.join('; '), USAGE.keys);
  }
}

/** Prints one JSON object a line, the newest first. */
function list(args: string[]): Work {
  if (args.length > 0) throw new UsageError('keys list has no arguments', USAGE.keys);
  return async (db) => {
    let after: string | undefined;
    do {
      const found = await listCredentials(db, after);
      const page = found.slice(0, PAGE);
      for (const credential of page) process.stdout.write(`${JSON.stringify(shown(credential))}\n`);
      after = found.length > PAGE ? page.at(-1)!.id : undefined;
    } while (after !== undefined);
  };
}

function revoke([text = '', ...rest]: string[]): Work {
  const id = parseUuid(text);
  if (id === undefined || rest.length > 0)
    throw new UsageError('keys revoke needs the id of a key', USAGE.keys);
  return async (db) => {
    if ((await revokeCredential(db, id)) === undefined) throw new ExitError(`there is no key ${id}`);
  };
}
