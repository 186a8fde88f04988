import type { HandledRequest } from '../../http/request.js';
import { ACCOUNTS_SETTINGS, hasMail } from '../accounts/settings.js';
import { enrolmentPage, recoveryCodesPage, secondStepPage } from './pages/second-factor-page.js';
import { type SignInMethods, signedInBy } from './sign-in-methods.js';
import type { InteractionParts } from './sign-in-parts.js';
import type { User } from './user-claims.js';

/** A sign-in that lacks its second factor. */
interface FirstStep {
  readonly user: User;
  /** The sign-in in which alone the response of a passkey is valid. */
  readonly context: string;
  /** The methods of the first step. */
  readonly amr: readonly string[] | undefined;
  readonly csrf: string;
  /** The name of the client for which the user signs in; undefined: to the account. */
  readonly client?: string;
}

/**
 * The methods of a sign-in with the second factor that a form has, which is a passkey, a code of an authenticator app or a recovery
 * code. Without a form, or with a wrong factor, the page of the second step. Failures count against the address and the user.
 * Throws 429.
 */
export async function secondStep(
  parts: InteractionParts,
  request: HandledRequest,
  first: FirstStep,
  form: URLSearchParams | undefined,
): Promise<SignInMethods | string> {
  const { passkeys } = parts;
  const { user, context, csrf, client, amr = [] } = first;
  const proved = form && (await provedBy(parts, request, first, form));
  if (proved) return signedInBy(...amr, ...proved);
  const hasPasskey = user.hasPasskey && passkeys.isAvailable;
  const passkey = hasPasskey ? await passkeys.requestForm(context) : undefined;
  const error = form && 'The code or the passkey is not valid. Each code is accepted once.';
  return secondStepPage({ csrf, client, hasTotp: user.hasTotp, passkey, error });
}

async function provedBy(
  parts: InteractionParts,
  request: HandledRequest,
  { user, context }: FirstStep,
  form: URLSearchParams,
): Promise<readonly string[] | undefined> {
  const { throttle, passkeys, secondFactors } = parts;
  const account = `second factor of ${user.id}`;
  const attempt = throttle.begin(request.address);
  attempt.admit(account);
  const byPasskey = form.has('response') ? await passkeys.signIn(context, form, user.id) : undefined;
  const byCode = form.has('code') ? await secondFactors.use(user.id, form.get('code')!) : undefined;
  if (byPasskey || byCode) attempt.pass();
  else await attempt.fail(account);
  if (byCode === 'recovery code') await noteLanguage(parts, request, user.id);
  return byCode ? ['otp', 'mfa'] : byPasskey?.amr;
}

/** The result of an action: methods that were proved, and a page or the reason why nothing has changed. */
export interface Change {
  readonly proved?: readonly string[];
  readonly page?: string;
  readonly error?: string;
}

/** The actions of the page of a user that change how the user signs in. */
const CHANGES: Readonly<
  Record<string, (parts: InteractionParts, user: User, form: URLSearchParams) => Promise<Change>>
> = {
  'begin-totp': async ({ secondFactors }, user, form) => {
    const enrolment = await secondFactors.enrolment(String(user.record.email));
    return { page: enrolmentPage(form.get('csrf')!, enrolment) };
  },
  'confirm-totp': async ({ secondFactors }, user, form) => {
    const [secret, code] = [form.get('secret') ?? '', form.get('code') ?? ''];
    const codes = await secondFactors.confirm(user.id, secret, code);
    if (codes) return { proved: ['otp', 'mfa'], page: recoveryCodesPage(codes) };
    const error = 'The code is not valid.';
    if (user.hasTotp) return { error };
    const enrolment = await secondFactors.enrolment(String(user.record.email), secret);
    return { page: enrolmentPage(form.get('csrf')!, enrolment, error), error };
  },
  'remove-totp': async ({ secondFactors }, { id }) => {
    await secondFactors.remove(id);
    return {};
  },
  passkey: async ({ passkeys }, { id }, form) =>
    (await passkeys.add(id, form.get('response') ?? '', form.get('token') ?? ''))
      ? {}
      : { error: 'The passkey was not added.' },
  'remove-passkey': async ({ passkeys }, { id }, form) => {
    await passkeys.remove(id, form.get('id') ?? '');
    return {};
  },
};

/** Changes how a user signs in, as a form requests it. Undefined: the form requests something else. */
export async function changeFactors(
  parts: InteractionParts,
  request: HandledRequest,
  user: User,
  form: URLSearchParams,
  isRecent: boolean,
): Promise<Change | undefined> {
  const change = new Map(Object.entries(CHANGES)).get(form.get('action') ?? '');
  if (!change) return undefined;
  if (!isRecent) return { error: 'Nothing was changed. Sign out and sign in again.' };
  const result = await change(parts, user, form);
  if (result.error === undefined && form.get('action') !== 'begin-totp')
    await noteLanguage(parts, request, user.id);
  return result;
}

/** The notes of the last changes of a user, which triggers request, are in the language of the request. */
export async function noteLanguage(
  { config, db }: InteractionParts,
  { req }: HandledRequest,
  userId: string,
) {
  if (!hasMail(ACCOUNTS_SETTINGS.of(config))) return;
  const { ACCOUNTS_SQL } = await import('../accounts/accounts-statements.js');
  const { languageOf } = await import('../accounts/mail-messages.js');
  await db.run(ACCOUNTS_SQL.note_language, [userId, languageOf(req.headers['accept-language'])]);
}
