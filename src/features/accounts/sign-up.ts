import { isDeepStrictEqual } from 'node:util';
import type { Principal } from '../../auth/principal.js';
import { setUserScopes, userScopes } from '../../auth/user-scopes.js';
import { storedPassword } from '../../collection/password-writes.js';
import type { Run } from '../../db/db.js';
import { fieldsDenied } from '../../errors/caller-errors.js';
import { invalid, invalidBody } from '../../errors/input-errors.js';
import { Problem } from '../../errors/problem.js';
import type { Collection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import type { Json, JsonObject } from '../../json.js';
import { grantsFor } from '../../policy/policy.js';
import { nextIdentity } from '../../uuid.js';
import {
  type AccountServices,
  addressOf,
  admittedInput,
  codeInUrl,
  type Input,
  programReply,
  shownFailures,
  shownReason,
} from './account-requests.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { codeEnded, signUpRefused } from './errors.js';
import { type Language, languageOf } from './mail-messages.js';
import { findCode, requestCode, useCode } from './mailed-code.js';
import { pageReply } from './password-pages.js';
import type { AccountsConfig } from './settings.js';
import { completionPage, type Field, formFields, signUpPage } from './sign-up-pages.js';

/**
 * Responds to requests of people who sign up: with an address for a message, then with the code of the message for an account. Until
 * then there is no record, and the address is free. Throws 400, 403, 409, 413 and 429.
 */
export async function signUp(services: AccountServices, request: HandledRequest): Promise<Reply> {
  const { req } = request;
  const language = languageOf(req.headers['accept-language']);
  const fields = formFields(services.users.resource);
  if (req.method !== 'POST') {
    const code = codeInUrl(request);
    const page =
      code === undefined ? signUpPage(language, 'ask') : completionPage(language, fields, { code });
    return pageReply(200, page);
  }
  const input = await admittedInput(services, request);
  return 'code' in input.values
    ? complete(services, input, fields, language)
    : requestSignUp(services, input, language);
}

/** The response is the same for each address that may sign up. */
async function requestSignUp(services: AccountServices, input: Input, language: Language): Promise<Reply> {
  const { db, users, settings, outbox } = services;
  const recipient = addressOf(input.text('email')) ?? '';
  try {
    requireAddress(users.whole, recipient);
    // An invitation is looked for when the message is sent: whether there is one is as secret as an account.
    if (settings.signUp === 'domains' && !(await maySignUp(db.run, settings, recipient)))
      throw signUpRefused();
    await db.transaction((run) => requestCode(run, { kind: 'sign-up', recipient, language }));
  } catch (error) {
    if (!input.isForm) throw error;
    return pageReply(422, signUpPage(language, 'ask', shownFailures(error)[0].message));
  }
  outbox.wake();
  return input.isForm ? pageReply(200, signUpPage(language, 'sent')) : programReply(202, {});
}

/** Throws 400 for an address that the declaration of users refuses. */
export function requireAddress(users: Collection, email: string): void {
  try {
    users.check({ email });
  } catch (error) {
    if (!(error instanceof Problem) || !Array.isArray(error.more.details)) throw error;
    const failures = error.more.details.filter(({ path }) => path === '/email');
    if (failures.length > 0) throw invalid(failures);
  }
}

/** Whether SIGN_UP permits a person with an address to become a user. */
export async function maySignUp(run: Run, settings: AccountsConfig, email: string): Promise<boolean> {
  const { signUp, signUpDomains } = settings;
  if (signUp === 'domains') return signUpDomains.includes(email.slice(email.lastIndexOf('@') + 1));
  return signUp === 'open' || hasOpenInvitation(run, email);
}

/** Whether an address has an invitation that nothing has ended. */
const hasOpenInvitation = async (run: Run, email: string): Promise<boolean> =>
  (await run(INVITATIONS_SQL.is_invited, [email])).length > 0;

async function complete(
  services: AccountServices,
  input: Input,
  fields: readonly Field[],
  language: Language,
): Promise<Reply> {
  const { isForm, values } = input;
  const code = input.text('code');
  const { code: _, ...given } = isForm ? typedValues(values, fields) : values;
  try {
    const id = await createUser(services, code, given);
    return isForm
      ? pageReply(
          200,
          completionPage(language, fields, { code: '', reason: 'done', signIn: services.signInPage }),
        )
      : programReply(201, { id }, ['Location', `/${services.users.resource.name}/${id}`]);
  } catch (error) {
    if (!isForm) throw error;
    const reason = shownReason(error);
    return pageReply(422, completionPage(language, fields, { code, values: given, reason }));
  }
}

/** In one transaction with the end of the code. Resolves to the id of the user. */
async function createUser(services: AccountServices, code: string, given: JsonObject): Promise<string> {
  const { db, settings, users } = services;
  const { recipient } = await findCode(db, 'sign-up', code);
  if (!(await maySignUp(db.run, settings, recipient))) throw codeEnded();
  const create = await newUser(users.whole, { ...given, email: recipient });
  return db.transaction(async (run) => {
    await useCode(run, 'sign-up', code);
    const id = await create(run);
    if (settings.signUpScopes.length > 0) await setUserScopes({ run }, id, settings.signUpScopes);
    return id;
  });
}

/**
 * A new user, who is the actor of its creation, and chooses the name, a password, and the fields that it may also change afterwards by
 * the scope `self`, except references, since it cannot read their records yet. The returned function creates it in a transaction, and
 * resolves to its id. Throws 400 and 403.
 */
export async function newUser(users: Collection, fields: JsonObject): Promise<(run: Run) => Promise<string>> {
  const { resource } = users;
  const { id } = nextIdentity();
  const own = grantsFor(resource, 'update', resource, principalOf(id, [])).filter(
    ({ where }) => where === undefined || isDeepStrictEqual(where, { id: '$caller' }),
  );
  const isOpen = (name: string) =>
    !resource.references.some(({ field }) => field === name) &&
    own.some((grant) => !grant.fields || grant.fields.includes(name));
  const denied = Object.keys(fields).filter(
    (name) => !['email', 'name', 'password'].includes(name) && !isOpen(name),
  );
  if (denied.length > 0) throw fieldsDenied(denied);
  const input = users.check(fields, 'request', undefined, id);
  const passwordHash = await storedPassword(input);
  if (passwordHash === undefined) throw invalidBody('must have the property password', 'required');
  return async (run) => {
    await users.createWithId(id, { ...input, passwordHash }, run);
    return id;
  };
}

/** A user as the caller of a request of its own. */
export const principalOf = (subject: string, scopes: readonly string[]): Principal => ({
  subject,
  scopes: userScopes(scopes.join(' ')),
  scheme: 'session',
  expiresAt: undefined,
});

/** The values of a form as their fields are declared. An empty entry is absent. */
export function typedValues(values: JsonObject, fields: readonly Field[]): JsonObject {
  const typed = ({ name, type }: Field): Json | undefined => {
    const text = Object.hasOwn(values, name) ? String(values[name]) : '';
    if (type === 'boolean') return text !== '';
    if (text === '') return undefined;
    return type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text;
  };
  const entries = fields.map((field) => [field.name, typed(field)] as const);
  return Object.fromEntries(
    [...entries, ['password', values.password ?? '']].filter(([, value]) => value !== undefined),
  );
}
