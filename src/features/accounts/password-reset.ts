import { setUserFields, storedPassword } from '../../collection/password-writes.js';
import type { Collection } from '../../feature.js';
import { addressOf, textIn } from './account-requests.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { codeEnded } from './errors.js';
import type { Flow, Use } from './flow.js';
import { findCode, requestCode, useCode } from './mailed-code.js';

/** A forgotten password. */
export const RESET: Flow = {
  kind: 'reset',
  path: '/reset-password',
  again: '/forgotten-password',
  ask: async ({ db }, input, language, returnTo) => {
    const recipient = addressOf(textIn(input.values, 'email'));
    if (recipient !== undefined)
      await db.transaction((run) => requestCode(run, { kind: 'reset', recipient, language, returnTo }));
  },
  show: async () => ({ hasPassword: true }),
  use: async (use) => {
    await setByCode(use);
    const reply = { status: 204, headers: ['Cache-Control', 'no-store'] };
    return { reply, end: 'done', next: use.services.signInPage };
  },
};

/** In one transaction, so that a code is used if and only if the password is set. Throws 400 and 403. */
async function setByCode({ services, code, values, language }: Use): Promise<void> {
  const { db } = services;
  const users = services.users.whole;
  const id = (await findCode(db, 'reset', code)).owner!;
  const record = await recordOf(users, id);
  const password = textIn(values, 'password');
  const checked = users.check({ ...record, password }, 'request', { record, isPatch: true });
  const passwordHash = await storedPassword(checked);
  await db.transaction(async (run) => {
    await useCode(run, 'reset', code);
    await run(ACCOUNTS_SQL.unlink_user, [id]);
    await setUserFields(users, id, {}, { passwordHash }, run);
    await run(ACCOUNTS_SQL.note_language, [id, language]);
  });
}

async function recordOf(users: Collection, id: string) {
  const stored = await users.get(id);
  if (typeof stored === 'string') throw codeEnded();
  return JSON.parse(stored.doc);
}
