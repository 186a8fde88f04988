import type { IncomingHttpHeaders } from 'node:http';
import type { Row } from '../../db/db.js';
import { ACCOUNTS_SETTINGS, hasMail } from '../accounts/settings.js';
import { ISSUER_SQL } from './issuer-statements.js';
import type { PasskeyForm } from './pages/page-frame.js';
import type { Enrolment } from './pages/second-factor-page.js';
import type { SignInParts } from './sign-in-parts.js';
import type { User } from './user-claims.js';

/** An action: of a user, by the values of a form or a program (empty: there is none), and its Accept-Language. */
type Action = (
  parts: SignInParts,
  user: User,
  given: (name: 'action' | 'secret' | 'code' | 'response' | 'token' | 'id' | 'email') => string,
  language: string | undefined,
) => Promise<Change>;

/** The result of an action: methods that were proved, and secrets that are shown once, or why nothing has changed. */
export interface Change {
  readonly proved?: readonly string[];
  readonly shown?: {
    readonly app?: Enrolment;
    readonly recovery_codes?: readonly string[];
    readonly passkey?: PasskeyForm;
  };
  readonly fault?: { readonly path: string; readonly message: string };
  /** The user has no such thing to remove. */
  readonly missing?: string;
}

const removal = (what: string, rows: readonly Row[]): Change => (rows.length > 0 ? {} : { missing: what });

/** The actions that change how a user signs in, or that request messages which confirm a change. */
export const CHANGES: Readonly<Record<string, Action>> = {
  'begin-totp': async ({ secondFactors }, user) => ({
    shown: { app: await secondFactors.enrolment(user.email) },
  }),
  'confirm-totp': async ({ secondFactors }, user, given) => {
    const secret = given('secret');
    const recovery_codes = await secondFactors.confirm(user.id, secret, given('code'));
    if (recovery_codes) return { proved: ['otp', 'mfa'], shown: { recovery_codes } };
    const fault = { path: '/code', message: 'The code is not valid.' };
    return user.hasTotp
      ? { fault }
      : { fault, shown: { app: await secondFactors.enrolment(user.email, secret) } };
  },
  'remove-totp': async ({ db }, { id }) =>
    removal('authenticator app', await db.run(ISSUER_SQL.remove_totp, [id])),
  'begin-passkey': async ({ passkeys }, { id, email }) =>
    passkeys.isAvailable
      ? { shown: { passkey: await passkeys.creationForm(id, email) } }
      : { fault: { path: '/action', message: 'Passkeys are not available at this address.' } },
  passkey: async ({ passkeys }, { id }, given) =>
    (await passkeys.add(id, given('response'), given('token')))
      ? {}
      : { fault: { path: '/response', message: 'The passkey was not added.' } },
  'remove-passkey': async ({ db }, { id }, given) =>
    removal('passkey', await db.run(ISSUER_SQL.remove_passkey, [id, given('id')])),
  'remove-issuer': async ({ db }, { id }, given) => {
    const rows = await db.run(ISSUER_SQL.unlink_issuer, [id, given('id')]);
    return rows[0]?.is_last === true
      ? { fault: { path: '/id', message: 'Nothing else signs you in. Add a passkey first.' } }
      : removal('link', rows);
  },
  'change-address': async ({ config, db, users }, user, given, language) => {
    if (!hasMail(ACCOUNTS_SETTINGS.of(config))) return NO_MAIL;
    const { requestAddress } = await import('../accounts/account-changes.js');
    await requestAddress(db, users, user, given('email'), language);
    return {};
  },
  'delete-account': async ({ config, db }, user, _given, language) => {
    if (!hasMail(ACCOUNTS_SETTINGS.of(config))) return NO_MAIL;
    const { requestRemoval } = await import('../accounts/account-changes.js');
    await requestRemoval(db, user, language);
    return {};
  },
};

/** The actions that messages confirm. */
export const MAILED_CHANGES: readonly string[] = ['change-address', 'delete-account'];

const NO_MAIL: Change = { fault: { path: '/action', message: 'This service sends no messages.' } };

/** Runs one of the actions. Throws 400 and 429. */
export async function change(
  parts: SignInParts,
  headers: IncomingHttpHeaders,
  user: User,
  given: Parameters<Action>[2],
): Promise<Change> {
  const action = given('action');
  const made = await CHANGES[action]!(parts, user, given, headers['accept-language']);
  const isAtOnce = !action.startsWith('begin-') && !MAILED_CHANGES.includes(action);
  if (isAtOnce && !made.fault && made.missing === undefined) await noteLanguage(parts, headers, user.id);
  return made;
}

/** The notes of the last changes of a user, which triggers request, are in the language of the request. */
export async function noteLanguage(
  { config, db }: SignInParts,
  headers: IncomingHttpHeaders,
  userId: string,
): Promise<void> {
  if (!hasMail(ACCOUNTS_SETTINGS.of(config))) return;
  const { ACCOUNTS_SQL } = await import('../accounts/accounts-statements.js');
  const { languageOf } = await import('../accounts/mail-messages.js');
  await db.run(ACCOUNTS_SQL.note_language, [userId, languageOf(headers['accept-language'])]);
}
