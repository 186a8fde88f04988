import { secretReply } from '../../actions/secret-reply.js';
import { setUserScopes } from '../../auth/user-scopes.js';
import { setUserFields, storedPassword } from '../../collection/password-writes.js';
import type { Db } from '../../db/db.js';
import { invalidBody } from '../../errors/input-errors.js';
import type { Collection } from '../../feature.js';
import { member } from '../../json.js';
import { nextIdentity } from '../../uuid.js';
import { checkAddress } from './account-requests.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { codeEnded, signUpRefused } from './errors.js';
import type { Flow } from './flow.js';
import { languageOf } from './mail-messages.js';
import { codeHash, requestCode } from './mailed-code.js';
import { isInDomains, maySignUp, newUser, principalOf, requireAddress } from './new-user.js';
import { formFields } from './new-user-form.js';

/** A forgotten password. */
export const RESET: Flow = {
  kind: 'reset',
  again: '/forgotten-password',
  title: 'New password',
  ask: 'Enter the address of your account. You get a message with a link, with which you choose a new password.',
  sent: 'If there is an account with this address, a message with a link is on its way. The link is valid for 30 minutes.',
  save: 'Save the password',
  done: 'The password is saved. All sessions have ended: sign in with the new password.',
  show: async () => ({ hasPassword: true }),
  use: async ({ services, values, language }, code) => {
    const users = services.users.whole;
    const id = code.owner!;
    const stored = await users.get(id);
    if (typeof stored === 'string') throw codeEnded();
    const record = JSON.parse(stored.doc);
    const password = member(values, 'password') ?? '';
    const checked = users.check({ ...record, password }, 'request', { record, isPatch: true });
    const passwordHash = await storedPassword(checked);
    return async (run) => {
      await run(ACCOUNTS_SQL.unlink_user, [id]);
      await setUserFields(users, id, {}, { passwordHash }, run);
      await run(ACCOUNTS_SQL.note_language, [id, language]);
      const reply = { status: 204, headers: ['Cache-Control', 'no-store'] };
      return { reply, step: 'done', next: services.signInPage };
    };
  },
};

/** The account of a person who signs up. Until the code is used, there is no record, and the address is free. */
export const SIGN_UP: Flow = {
  kind: 'sign-up',
  again: '/sign-up',
  title: 'Create an account',
  ask: 'Enter your address. You get a message with a link, with which you complete your account.',
  sent: 'A message is on its way to this address. Its link is valid for 30 minutes. If you have an account already, the message says so.',
  save: 'Create the account',
  done: 'Your account is ready. Sign in with your address and the password.',
  permit: ({ settings, users }, email) => {
    requireAddress(users.whole, email);
    // An invitation is looked for when the message is sent: whether there is one is as secret as an account.
    if (settings.signUp === 'domains' && !isInDomains(settings, email)) throw signUpRefused();
  },
  show: async ({ users }) => ({ fields: formFields(users.resource), hasPassword: true }),
  use: async ({ services, values }, { recipient: email }) => {
    const { db, settings, users, signInPage } = services;
    if (!(await maySignUp(db.run, settings, email))) throw codeEnded();
    const create = await newUser(users.whole, { ...values, email });
    return async (run) => {
      const id = await create(run);
      if (settings.signUpScopes.length > 0) await setUserScopes({ run }, id, settings.signUpScopes);
      const reply = secretReply(201, { id }, ['Location', `/${users.resource.name}/${id}`]);
      return { reply, step: 'done', next: signInPage };
    };
  },
};

/** Another address of an account, which the present and the new address confirm. The access rules of users decide as for requests. */
export const ADDRESS: Flow = {
  kind: 'address',
  again: '/account',
  title: 'Another address',
  text: 'This changes the address of your account. You get a message at the present address and at the new one: confirm both.',
  save: 'Confirm',
  half: 'Confirmed. Now use the link in the message to the other address.',
  done: 'The address of your account has changed.',
  show: async ({ db }, code) => {
    const [row] = await db.run(ACCOUNTS_SQL.requested_address, [codeHash(code)]);
    return { about: row ? [String(row.email)] : [] };
  },
  use:
    async ({ services: { users }, language }, { about, recipient }) =>
    async (run) => {
      const [row] = await run(ACCOUNTS_SQL.confirm_address, [about!, recipient]);
      if (!row) throw codeEnded();
      if (row.is_confirmed !== true) return { reply: secretReply(200, { confirmed: 'one' }), step: 'half' };
      const [id, email] = [String(row.owner), String(row.email)];
      await run(ACCOUNTS_SQL.end_address_change, [about!]);
      await run(ACCOUNTS_SQL.left_address, [id, String(row.former)]);
      await setUserFields(users.as({ principal: principalOf(id) }), id, { email }, {}, run);
      await run(ACCOUNTS_SQL.note_language, [id, language]);
      return CONFIRMED;
    },
};

/** The end of an account. */
export const REMOVAL: Flow = {
  kind: 'removal',
  again: '/account',
  title: 'Delete the account',
  text: 'This deletes your account and all that belongs to it, for good.',
  save: 'Delete the account',
  done: 'The account is deleted.',
  use:
    async ({ services: { users } }, { owner }) =>
    async (run) => {
      await users.as({ principal: principalOf(owner!) }).remove(owner!, undefined, run, owner);
      return CONFIRMED;
    },
};

const CONFIRMED = { reply: secretReply(200, { confirmed: 'all' }), step: 'done' } as const;

type Requester = Readonly<Record<'id' | 'email', string>>;

/** Stores the messages to the present address and to the new one, each with a code: both are needed. Throws 400 and 429. */
export async function requestAddress(
  db: Db,
  users: Collection,
  { id, email }: Requester,
  given: string,
  acceptLanguage: string | undefined,
): Promise<void> {
  const { email: address } = checkAddress({ email: given }).fields;
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
export const requestRemoval = (db: Db, { email }: Requester, acceptLanguage: string | undefined) =>
  db.transaction((run) =>
    requestCode(run, { kind: 'removal', recipient: email, language: languageOf(acceptLanguage) }),
  );
