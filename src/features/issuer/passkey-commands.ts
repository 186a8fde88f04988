import { parse, subcommandOf } from '../../cli/arguments.js';
import type { Io } from '../../cli/io.js';
import { ListOutput, print } from '../../cli/output.js';
import { idOf, withDatabase } from '../../cli/with-database.js';
import { USER_COMMANDS } from './commands.js';
import { ISSUER_SQL } from './issuer-statements.js';

/** Lists or removes the passkeys of a user. Throws UsageError and ExitError. */
export async function passkeysCommand(args: string[], io: Io): Promise<void> {
  const { verb, rest } = subcommandOf(USER_COMMANDS, 'users', args);
  return verb === 'passkeys' ? listPasskeys(rest, io) : removePasskeys(rest, io);
}

async function listPasskeys(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(USER_COMMANDS, 'users', 'passkeys', args);
  const [email] = positionals as [string];
  const output = new ListOutput(io, values.json);
  await withDatabase(io, async (database) => {
    const rows = await database.db.run(ISSUER_SQL.passkeys_of, [await idOf(database, email)]);
    for (const { id, created } of rows)
      output.add({ id, created_at: new Date(Number(created) * 1000).toISOString() });
    output.end();
  });
}

async function removePasskeys(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(USER_COMMANDS, 'users', 'remove-passkeys', args);
  const [email] = positionals as [string];
  await withDatabase(io, async (database) => {
    const id = await idOf(database, email);
    const removed = await database.db.run(ISSUER_SQL.remove_passkeys, [id]);
    print(io, values.json, { id, removed: removed.length }, `removed:  ${removed.length}\n`);
  });
}
