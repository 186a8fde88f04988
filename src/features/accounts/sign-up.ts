import { setUserScopes } from '../../auth/user-scopes.js';
import { addressOf, programReply, textIn } from './account-requests.js';
import { codeEnded, signUpRefused } from './errors.js';
import type { Flow, Use } from './flow.js';
import { findCode, requestCode, useCode } from './mailed-code.js';
import { maySignUp, newUser, requireAddress } from './new-user.js';
import { formFields } from './new-user-form.js';

/** The account of a person who signs up. Until the code is used, there is no record, and the address is free. */
export const SIGN_UP: Flow = {
  kind: 'sign-up',
  path: '/sign-up',
  again: '/sign-up',
  ask: async ({ db, users, settings }, input, language, returnTo) => {
    const recipient = addressOf(textIn(input.values, 'email')) ?? '';
    requireAddress(users.whole, recipient);
    // An invitation is looked for when the message is sent: whether there is one is as secret as an account.
    if (settings.signUp === 'domains' && !(await maySignUp(db.run, settings, recipient)))
      throw signUpRefused();
    await db.transaction((run) => requestCode(run, { kind: 'sign-up', recipient, language, returnTo }));
  },
  show: async ({ users }) => ({ fields: formFields(users.resource), hasPassword: true }),
  use: async (use) => {
    const id = await createUser(use);
    const { users, signInPage } = use.services;
    const reply = programReply(201, { id }, ['Location', `/${users.resource.name}/${id}`]);
    return { reply, end: 'done', next: signInPage };
  },
};

/** In one transaction with the end of the code. Resolves to the id of the user. Throws 400, 403, 409. */
async function createUser({ services, code, values }: Use): Promise<string> {
  const { db, settings, users } = services;
  const { recipient } = await findCode(db, 'sign-up', code);
  if (!(await maySignUp(db.run, settings, recipient))) throw codeEnded();
  const create = await newUser(users.whole, { ...values, email: recipient });
  return db.transaction(async (run) => {
    await useCode(run, 'sign-up', code);
    const id = await create(run);
    if (settings.signUpScopes.length > 0) await setUserScopes({ run }, id, settings.signUpScopes);
    return id;
  });
}
