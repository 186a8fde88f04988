import { setUserFields } from '../../collection/password-writes.js';
import type { Db } from '../../db/db.js';
import { invalidBody } from '../../errors/input-errors.js';
import type { Collection } from '../../feature.js';
import { nextIdentity } from '../../uuid.js';
import { addressOf, programReply } from './account-requests.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { codeEnded } from './errors.js';
import type { Flow } from './flow.js';
import { languageOf } from './mail-messages.js';
import { codeHash, requestCode, useCode } from './mailed-code.js';
import { principalOf, requireAddress } from './new-user.js';

/** Stores the messages to the present address and to the new one, each with a code: both are needed. Throws 400 and 429. */
export async function requestAddress(
  db: Db,
  users: Collection,
  { id, email }: Readonly<Record<'id' | 'email', string>>,
  given: string,
  acceptLanguage: string | undefined,
): Promise<void> {
  const address = addressOf(given) ?? '';
  const language = languageOf(acceptLanguage);
  if (address === email) throw invalidBody('must be another address', 'const', '/email');
  requireAddress(users, address);
  const about = nextIdentity().id;
  await db.transaction(async (run) => {
    // All transactions lock the addresses in one order, and the request after them, as the use of a code does.
    for (const recipient of [address, email].sort())
      await requestCode(run, { kind: 'address', recipient, language, about });
    await run(ACCOUNTS_SQL.request_address, [about, id, address]);
  });
}

/** Stores the message with the code that deletes an account. Throws 429. */
export const requestRemoval = (
  db: Db,
  { email }: { readonly email: string },
  acceptLanguage: string | undefined,
): Promise<void> =>
  db.transaction((run) =>
    requestCode(run, { kind: 'removal', recipient: email, language: languageOf(acceptLanguage) }),
  );

/** Another address of an account, which the present and the new address confirm. The access rules of users decide as for requests. */
export const ADDRESS: Flow = {
  kind: 'address',
  path: '/confirm-address',
  again: '/account',
  show: async ({ db }, code) => {
    const [row] = await db.run(ACCOUNTS_SQL.requested_address, [codeHash(code)]);
    return { about: row ? [String(row.email)] : [] };
  },
  use: async ({ services: { db, users }, code, language }) => {
    const isDone = await db.transaction(async (run) => {
      const { recipient, about } = await useCode(run, 'address', code);
      const [row] = await run(ACCOUNTS_SQL.confirm_address, [about!, recipient]);
      if (!row) throw codeEnded();
      if (row.is_confirmed !== true) return false;
      const [id, email] = [String(row.owner), String(row.email)];
      await run(ACCOUNTS_SQL.end_address_change, [about!]);
      await run(ACCOUNTS_SQL.left_address, [id, String(row.former)]);
      await setUserFields(users.as({ principal: principalOf(id) }), id, { email }, {}, run);
      await run(ACCOUNTS_SQL.note_language, [id, language]);
      return true;
    });
    const reply = programReply(200, { confirmed: isDone ? 'all' : 'one' });
    return { reply, end: isDone ? 'done' : 'half' };
  },
};

/** The end of an account. */
export const REMOVAL: Flow = {
  kind: 'removal',
  path: '/confirm-removal',
  again: '/account',
  use: async ({ services: { db, users }, code }) => {
    await db.transaction(async (run) => {
      const owner = (await useCode(run, 'removal', code)).owner!;
      await users.as({ principal: principalOf(owner) }).remove(owner, undefined, run, owner);
    });
    return { reply: programReply(200, { confirmed: 'all' }), end: 'done' };
  },
};
