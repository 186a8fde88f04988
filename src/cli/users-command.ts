import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { setPassword } from '../actions/set-password.js';
import { knownScopes, scopeFault, setUserScopes } from '../auth/user-scopes.js';
import type { Config } from '../config/config.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { openCollection } from '../list/open-collection.js';
import { parse, subcommandOf } from './arguments.js';
import { type Io, nextLine, UsageError } from './io.js';
import { print } from './output.js';
import { ACCESS_COMMANDS } from './table/access-commands.js';
import { idOf, withResources } from './with-database.js';

/** Creates users, and sets their passwords and scopes. Throws UsageError and ExitError. */
export async function usersCommand(args: string[], io: Io): Promise<void> {
  const { verb, rest } = subcommandOf(ACCESS_COMMANDS, 'users', args);
  const { values, positionals } = parse(ACCESS_COMMANDS, 'users', verb, rest);
  const { name, scopes: list, json } = values as Partial<Record<'name' | 'scopes', string>> & typeof values;
  const [email] = positionals as [string];
  // An empty list withdraws all scopes.
  const scopes = list?.split(',').filter((scope) => scope !== '');
  const password = verb === 'set-scopes' ? undefined : await readPassword(io);
  await withResources(io, async (resources, database, config) => {
    const users = openCollection(
      database.db,
      resources.find(({ hasPasswords }) => hasPasswords)!,
      config.tombstones,
    );
    await requireKnown(scopes ?? [], config);
    const isNew = verb === 'create';
    const id = isNew
      ? (await users.create(users.check({ email, name: name!, password: password! }))).id
      : await idOf(database, email);
    if (!isNew && password !== undefined) await setPassword(users, id, password);
    if (scopes) await setUserScopes(database.db, id, scopes);
    print(io, json, { id, ...(verb === 'set-scopes' && { scopes }) }, isNew ? `id:  ${id}\n` : '');
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
