import { readFileSync } from 'node:fs';
import { shown } from '../actions/admin/keys.js';
import { readCredentialInput } from '../auth/credentials/credential-input.js';
import {
  createCredential,
  listCredentials,
  PAGE,
  revokeCredential,
} from '../auth/credentials/credentials.js';
import { readConfig } from '../config/config.js';
import type { Db } from '../db/db.js';
import { openDatabase } from '../db/open.js';
import { problemOf } from '../db/sqlstate.js';
import { ExitError } from '../exit-error.js';
import type { JsonObject } from '../json.js';
import { type Failure, Problem } from '../problem.js';
import { createLog } from '../telemetry/log.js';
import { parseUuid } from '../uuid.js';
import { exitOnSignals, parse, UsageError } from './exit.js';

type Work = (db: Db) => Promise<void>;

/** Creates, lists and revokes credentials. Throws UsageError before the database is opened, ExitError after. */
export async function keysCommand([verb, ...args]: string[], usage: string): Promise<void> {
  const verbs = new Map<string | undefined, () => Work>([
    ['create', () => create(args, usage)],
    ['list', () => list(args, usage)],
    ['revoke', () => revoke(args, usage)],
  ]);
  const prepare = verbs.get(verb);
  if (!prepare)
    throw new UsageError(
      verb === undefined ? 'keys needs create, list or revoke' : `there is no command keys ${verb}`,
      usage,
    );
  const work = prepare();
  exitOnSignals();
  const config = readConfig();
  const database = await openDatabase(config, createLog(config.logLevel), { join: true });
  try {
    await work(database.db);
  } catch (error) {
    const problem = error instanceof Problem ? error : problemOf(error);
    throw problem ? new ExitError(problem.message) : error;
  } finally {
    await database.close();
  }
}

function create(args: string[], usage: string): Work {
  const string = { type: 'string' } as const;
  const options = { label: string, subject: string, scopes: string, expires: string, certificate: string };
  const { label, subject, scopes, expires, certificate } = parse({ args, options }, usage).values;
  if (label === undefined || subject === undefined || scopes === undefined)
    throw new UsageError('keys create needs --label, --subject and --scopes', usage);
  const body: JsonObject = { label, subject, scopes: scopes.split(',') };
  if (expires !== undefined) body.expires_at = timeOf(expires);
  if (certificate !== undefined) body.certificate = textOf(certificate);
  const { input, key } = checked(body, usage);
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

function checked(body: JsonObject, usage: string): ReturnType<typeof readCredentialInput> {
  try {
    return readCredentialInput(body);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const reasons = (error.more.details as readonly Failure[]).map(({ path, message }) => {
      const field = path.split('/')[1]!;
      return `--${OPTIONS[field] ?? field} ${message}`;
    });
    throw new UsageError(reasons.join('; '), usage);
  }
}

/** Prints one JSON object a line, the newest first. */
function list(args: string[], usage: string): Work {
  if (args.length > 0) throw new UsageError('keys list has no arguments', usage);
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

function revoke([text = '', ...rest]: string[], usage: string): Work {
  const id = parseUuid(text);
  if (id === undefined || rest.length > 0) throw new UsageError('keys revoke needs the id of a key', usage);
  return async (db) => {
    if ((await revokeCredential(db, id)) === undefined) throw new ExitError(`there is no key ${id}`);
  };
}
