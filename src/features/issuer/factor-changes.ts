import type { IncomingHttpHeaders } from 'node:http';
import type { Row } from '../../db/db.js';
import { ACCOUNTS_SETTINGS, hasMail } from '../accounts/settings.js';
import { ISSUER_SQL } from './issuer-statements.js';
import type { PasskeyForm } from './pages/page-frame.js';
import type { Enrolment } from './pages/second-factor-page.js';
import type { AccountParts, InteractionParts } from './sign-in-parts.js';
import type { User } from './user-claims.js';

/** The values with which a form or a program requests an action; empty: there is none. */
type Given = (name: 'action' | 'secret' | 'code' | 'response' | 'token' | 'id') => string;

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

/** The actions that change how a user signs in. */
export const FACTOR_CHANGES: Readonly<
  Record<string, (parts: InteractionParts, user: User, given: Given) => Promise<Change>>
> = {
  'begin-totp': async ({ secondFactors }, user) => ({
    shown: { app: await secondFactors.enrolment(String(user.record.email)) },
  }),
  'confirm-totp': async ({ secondFactors }, user, given) => {
    const secret = given('secret');
    const recovery_codes = await secondFactors.confirm(user.id, secret, given('code'));
    if (recovery_codes) return { proved: ['otp', 'mfa'], shown: { recovery_codes } };
    const fault = { path: '/code', message: 'The code is not valid.' };
    return user.hasTotp
      ? { fault }
      : { fault, shown: { app: await secondFactors.enrolment(String(user.record.email), secret) } };
  },
  'remove-totp': async ({ db }, { id }) =>
    removal('authenticator app', await db.run(ISSUER_SQL.remove_totp, [id])),
  'begin-passkey': async ({ passkeys }, { id, record }) =>
    passkeys.isAvailable
      ? { shown: { passkey: await passkeys.creationForm({ id, email: String(record.email) }) } }
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
};

/** Changes how a user signs in. Undefined: there is no such action. */
export async function changeFactors(
  parts: InteractionParts,
  headers: IncomingHttpHeaders,
  user: User,
  given: Given,
): Promise<Change | undefined> {
  const action = given('action');
  if (!Object.hasOwn(FACTOR_CHANGES, action)) return undefined;
  const change = await FACTOR_CHANGES[action]!(parts, user, given);
  if (!change.fault && change.missing === undefined && !action.startsWith('begin-'))
    await noteLanguage(parts, headers, user.id);
  return change;
}

/** The actions that messages confirm. */
export const MAILED_CHANGES: readonly string[] = ['change-address', 'delete-account'];

/** Sends the messages that confirm another address, or the end of the account. Throws 400 and 429. */
export async function requestByMail(
  { config, db }: AccountParts,
  headers: IncomingHttpHeaders,
  { id, record }: User,
  action: string,
  address: string,
): Promise<Change> {
  if (!hasMail(ACCOUNTS_SETTINGS.of(config)))
    return { fault: { path: '/action', message: 'This service sends no messages.' } };
  const { requestAddress, requestRemoval } = await import('../accounts/account-changes.js');
  const requester = { id, email: String(record.email) };
  const language = headers['accept-language'];
  if (action === 'delete-account') await requestRemoval(db, requester, language);
  else await requestAddress(db, requester, address, language);
  return {};
}

/** The notes of the last changes of a user, which triggers request, are in the language of the request. */
export async function noteLanguage(
  { config, db }: InteractionParts,
  headers: IncomingHttpHeaders,
  userId: string,
): Promise<void> {
  if (!hasMail(ACCOUNTS_SETTINGS.of(config))) return;
  const { ACCOUNTS_SQL } = await import('../accounts/accounts-statements.js');
  const { languageOf } = await import('../accounts/mail-messages.js');
  await db.run(ACCOUNTS_SQL.note_language, [userId, languageOf(headers['accept-language'])]);
}
