import { rotateKeys } from '../issuer/keys.js';
import { parse, UsageError } from './exit.js';
import { USAGE } from './usage.js';
import { withDatabase } from './with-database.js';

/** Rotates the signing keys of the embedded authorization server. Throws UsageError and ExitError. */
export async function issuerCommand([verb, ...args]: string[]): Promise<void> {
  const options = { delay: { type: 'string', default: '60' } } as const;
  const { values } = parse({ args, options }, USAGE.issuer);
  if (verb !== 'rotate-keys') throw new UsageError('issuer needs a subcommand: rotate-keys', USAGE.issuer);
  if (!/^\d{1,6}$/.test(values.delay))
    throw new UsageError('--delay must be a number of seconds', USAGE.issuer);
  await withDatabase(async ({ db }, { authServerKey }) => {
    const id = await rotateKeys(db, authServerKey, Number(values.delay));
    process.stdout.write(`id:  ${id}\n`);
  });
}
