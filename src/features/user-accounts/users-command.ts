import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { openCollections } from '../../api/record-actions.js';
import { knownScopes, scopeFault } from '../../auth/user-scopes.js';
import { parse, subcommandOf } from '../../cli/arguments.js';
import { type Io, nextLine, UsageError } from '../../cli/io.js';
import { print, printPages } from '../../cli/output.js';
import { idOf, withResources } from '../../cli/with-database.js';
import { setUserFields } from '../../collection/password-writes.js';
import type { Config } from '../../config/config.js';
import { loadDeclarations, resourcesOf } from '../../declarations/load-declarations.js';
import { COMMANDS } from './commands.js';
import { STORED_ACCOUNTS } from './user-accounts.js';

/** Creates, shows, changes and deletes users. Throws UsageError and ExitError. */
export async function usersCommand(args: string[], io: Io): Promise<void> {
  const { verb, rest } = subcommandOf(COMMANDS, 'users', args);
  const { values, positionals } = parse(COMMANDS, 'users', verb, rest);
  const { name, scopes: given, json } = values as Partial<Record<'name' | 'scopes', string>> & typeof values;
  const [email = ''] = positionals as string[];
  // An empty list withdraws all scopes.
  const scopes = given?.split(',').filter((scope) => scope !== '');
  const password = verb === 'create' || verb === 'set-password' ? await readPassword(io) : undefined;
  await withResources(io, async (resources, database, config) => {
    const { db } = database;
    const all = openCollections(db, resources, config.tombstones);
    const users = all.find(({ resource }) => resource.hasPasswords)!.whole;
    const { list, shown } = STORED_ACCOUNTS;
    if (verb === 'list') return printPages(io, json, LIMIT, (after) => list(db, after, LIMIT), shown);
    await requireKnown(scopes ?? [], config);
    const isNew = verb === 'create';
    const id = isNew
      ? (await users.create(users.check({ email, name: name!, password: password! }))).id
      : await idOf(database, email);
    if (!isNew && password !== undefined) await setUserFields(users, id, { password });
    if (verb === 'show') {
      const { members = {} } = (await STORED_ACCOUNTS.get(db, id)) ?? {};
      return print(io, json, members, `${JSON.stringify(members)}\n`);
    }
    if (verb === 'delete') await users.remove(id);
    const changes: Readonly<Record<string, object>> = {
      scopes: { scopes },
      ...{ disable: { disabled: true }, enable: { disabled: false } },
      'remove-second-factor': { second_factor: false },
    };
    const change = changes[verb] ?? (scopes && { scopes });
    if (change) await STORED_ACCOUNTS.change(db, id, (before) => ({ ...before, ...change }));
    print(io, json, { id, ...(!isNew && scopes && { scopes }) }, isNew ? `id:  ${id}\n` : '');
  });
}

/** Accounts that are read at a time. */
const LIMIT = 1000;

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
