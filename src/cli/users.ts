import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { knownScopes, scopeFault } from '../auth/known-scopes.js';
import { type Collection, openCollection } from '../collection/collection.js';
import { setPassword } from '../collection/set-password.js';
import type { Config } from '../config/config.js';
import type { Database } from '../db/open.js';
import { readStatements } from '../db/statements.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { ExitError } from '../exit-error.js';
import { setUserScopes } from '../issuer/accounts.js';
import { ensureCollections } from '../schema/ensure-collections.js';
import { createLog } from '../telemetry/log.js';
import { parse, subcommandOf } from './arguments.js';
import { UsageError } from './exit.js';
import { print } from './output.js';
import { withDatabase } from './with-database.js';

const FIND = readStatements('auth.sql').get('user_of_email')!;

/** Creates users, and sets their passwords and scopes. Throws UsageError and ExitError. */
export async function usersCommand(args: string[]): Promise<void> {
  const { verb, rest } = subcommandOf('users', args);
  if (verb === 'create') return create(rest);
  return verb === 'set-password' ? changePassword(rest) : changeScopes(rest);
}

async function create(args: string[]): Promise<void> {
  const { values, positionals } = parse('users', 'create', args);
  const { name, json } = values;
  const email = onlyEmail(positionals);
  const scopes = values.scopes?.split(',');
  const password = await readPassword();
  await withUsers(async (users, database, config) => {
    await requireKnown(scopes ?? [], config);
    const { id } = await users.create(users.check({ email, name, password }));
    if (scopes) await setUserScopes(database.db, id, scopes);
    print(json, { id }, `id:  ${id}\n`);
  });
}

async function changePassword(args: string[]): Promise<void> {
  const { values, positionals } = parse('users', 'set-password', args);
  const email = onlyEmail(positionals);
  const password = await readPassword();
  await withUsers(async (users, database) => {
    const id = await idOf(database, email);
    await setPassword(users, id, password);
    print(values.json, { id }, '');
  });
}

async function changeScopes(args: string[]): Promise<void> {
  const { values, positionals } = parse('users', 'set-scopes', args);
  const email = onlyEmail(positionals);
  const scopes = values.scopes.split(',');
  await withUsers(async (_users, database, config) => {
    await requireKnown(scopes, config);
    const id = await idOf(database, email);
    await setUserScopes(database.db, id, scopes);
    print(values.json, { id, scopes }, '');
  });
}

function onlyEmail([email, ...rest]: readonly string[]): string {
  if (email === undefined || rest.length > 0) throw new UsageError('name one email', 'users');
  return email;
}

function withUsers(
  work: (users: Collection, database: Database, config: Config) => Promise<void>,
): Promise<void> {
  return withDatabase(async (database, config) => {
    const declarations = await loadDeclarations(config);
    await ensureCollections(database, declarations, config.migrate, createLog(config.logLevel));
    const users = resourcesOf(declarations).find(({ hasPasswords }) => hasPasswords)!;
    await work(openCollection(database.db, users, config.tombstones), database, config);
  });
}

async function requireKnown(scopes: readonly string[], config: Config): Promise<void> {
  const known = knownScopes(resourcesOf(await loadDeclarations(config)));
  const fault = scopes.map((scope) => scopeFault(scope, known)).find((each) => each !== undefined);
  if (fault !== undefined) throw new UsageError(`--scopes: ${fault}`, 'users');
}

async function idOf({ db }: Database, email: string): Promise<string> {
  const [row] = await db.run(FIND, [email.trim().normalize('NFC').toLowerCase()]);
  if (!row) throw new ExitError(`there is no user ${email}`);
  return String(row.id);
}

/** From the terminal without showing it, or the first line of the standard input: other users of the machine see arguments. */
async function readPassword(): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) return (await text(stdin)).split(/\r?\n/, 1)[0]!;
  stderr.write('Password: ');
  const lines = createInterface({ input: stdin, terminal: true });
  try {
    return await lines.question('');
  } finally {
    lines.close();
    stderr.write('\n');
  }
}
