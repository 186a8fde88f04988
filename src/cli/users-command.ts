import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { setPassword } from '../actions/set-password.js';
import { knownScopes, scopeFault, setUserScopes } from '../auth/user-scopes.js';
import type { Config } from '../config/config.js';
import type { Database } from '../db/open-database.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { type Collection, openCollection } from '../list/open-collection.js';
import { parse, subcommandOf } from './arguments.js';
import { type Io, nextLine, UsageError } from './io.js';
import { print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { idOf, withResources } from './with-database.js';

/** Creates users, and sets their passwords and scopes. Throws UsageError and ExitError. */
export async function usersCommand(args: string[], io: Io): Promise<void> {
  const { verb, rest } = subcommandOf(ACCESS_COMMANDS, 'users', args);
  if (verb === 'create') return create(rest, io);
  if (verb === 'set-password') return changePassword(rest, io);
  return changeScopes(rest, io);
}

async function create(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'users', 'create', args);
  const { name, json } = values;
  const [email] = positionals as [string];
  const scopes = values.scopes === undefined ? undefined : scopesIn(values.scopes);
  const password = await readPassword(io);
  await withUsers(io, async (users, database, config) => {
    await requireKnown(scopes ?? [], config);
    const { id } = await users.create(users.check({ email, name, password }));
    if (scopes) await setUserScopes(database.db, id, scopes);
    print(io, json, { id }, `id:  ${id}\n`);
  });
}

async function changePassword(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'users', 'set-password', args);
  const [email] = positionals as [string];
  const password = await readPassword(io);
  await withUsers(io, async (users, database) => {
    const id = await idOf(database, email);
    await setPassword(users, id, password);
    print(io, values.json, { id }, '');
  });
}

async function changeScopes(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(ACCESS_COMMANDS, 'users', 'set-scopes', args);
  const [email] = positionals as [string];
  const scopes = scopesIn(values.scopes);
  await withUsers(io, async (_users, database, config) => {
    await requireKnown(scopes, config);
    const id = await idOf(database, email);
    await setUserScopes(database.db, id, scopes);
    print(io, values.json, { id, scopes }, '');
  });
}

/** An empty list withdraws all scopes. */
const scopesIn = (list: string): string[] => list.split(',').filter((scope) => scope !== '');

function withUsers(
  io: Io,
  work: (users: Collection, database: Database, config: Config) => Promise<void>,
): Promise<void> {
  return withResources(io, async (resources, database, config) => {
    const users = resources.find(({ hasPasswords }) => hasPasswords)!;
    await work(openCollection(database.db, users, config.tombstones), database, config);
  });
}

async function requireKnown(scopes: readonly string[], config: Config): Promise<void> {
  const known = knownScopes(resourcesOf(await loadDeclarations(config)));
  const fault = scopes.map((scope) => scopeFault(scope, known)).find((each) => each !== undefined);
  if (fault !== undefined) throw new UsageError(`--scopes: ${fault}`, 'users');
}

/** From the terminal without showing it, or the first line of the standard input: other users of the machine see arguments. */
async function readPassword({ stdin, stderr }: Io): Promise<string> {
  if (!stdin.isTTY) return (await text(stdin)).split(/\r?\n/, 1)[0]!;
  stderr.write('Password: ');
  const lines = createInterface({ input: stdin, terminal: true });
  try {
    return await nextLine(lines, '');
  } finally {
    lines.close();
    stderr.write('\n');
  }
}
