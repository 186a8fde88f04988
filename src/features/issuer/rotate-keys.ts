import { parse, subcommandOf } from '../../cli/arguments.js';
import { type Io, UsageError } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import { withDatabase } from '../../cli/with-database.js';
import { COMMANDS } from './commands.js';
import { ISSUER_SETTINGS } from './settings.js';
import { rotateKeys } from './signing-keys.js';

/** Rotates the signing keys of the embedded authorization server. Throws UsageError and ExitError. */
export async function issuerCommand(args: string[], io: Io): Promise<void> {
  const { verb, rest } = subcommandOf(COMMANDS, 'issuer', args);
  const { values } = parse(COMMANDS, 'issuer', verb, rest);
  if (!/^\d{1,6}$/.test(values.delay)) throw new UsageError('--delay must be a number of seconds', 'issuer');
  await withDatabase(io, async ({ db }, config) => {
    const keys = await rotateKeys(db, ISSUER_SETTINGS.of(config).authServerKey, Number(values.delay));
    print(io, values.json, { keys }, keys.map(({ alg, id }) => `${alg}:  ${id}\n`).join(''));
  });
}
