import type { HandledRequest } from '../../http/request.js';
import { noteLanguage } from './factor-changes.js';
import { secondStepPage } from './pages/second-factor-page.js';
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
  if (byCode === 'recovery code') await noteLanguage(parts, request.req.headers, user.id);
  return byCode ? ['otp', 'mfa'] : byPasskey?.amr;
}
