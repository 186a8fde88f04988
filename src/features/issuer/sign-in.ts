import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { accountLinks } from '../accounts/settings.js';
import { noteLanguage } from './factor-changes.js';
import type { SignInForm } from './pages/page-frame.js';
import { secondStepPage } from './pages/second-factor-page.js';
import { signInPage } from './pages/sign-in-page.js';
import { confirmPassword } from './present-request.js';
import { type SignInMethods, signedInBy } from './sign-in-methods.js';
import type { SignInParts } from './sign-in-parts.js';
import type { User } from './user-claims.js';

/** A page on which a user signs in: for an application, or for the account. */
export interface Entrance extends SignInForm {
  readonly request: HandledRequest;
  /** The path of the page, to which people return from other pages and other issuers. */
  readonly back: string;
  /** The sign-in in which alone the response of a passkey is valid. */
  readonly context: string;
  /** The email that the form begins with. */
  readonly hint?: string;
  /** The scopes that the application requests; undefined: all scopes of the user. */
  readonly scopes?: Iterable<string>;
  /** The prompt for other issuers. */
  readonly prompt?: string | undefined;
  readonly show: (status: number, page: string) => Reply;
  /** Leads the user on after a sign-in; the response has these fields too. */
  readonly enter: (userId: string, by: SignInMethods, fields: readonly string[]) => Promise<Reply>;
}

/** The proof of a form: the user with the methods by RFC 8176; undefined: the form proves nothing. */
type Proof = { readonly userId: string; readonly amr: readonly string[] } | undefined;

/** The user with an email and a password that a form has; undefined: they are wrong. Throws 429 and 503. */
export async function checkedPassword(
  { signIn, throttle }: SignInParts,
  { address }: HandledRequest,
  email: string,
  password: string | null,
) {
  const attempt = throttle.begin(address);
  const user = await signIn(email, password ?? '', attempt);
  if (user.userId === undefined) {
    await attempt.fail(user.account);
    return undefined;
  }
  attempt.pass();
  confirmPassword(user.userId, user.passwordVersion);
  return { ...user, amr: ['pwd'] };
}

async function checkedPasskey(
  { passkeys, throttle }: SignInParts,
  { request, context }: Entrance,
  form: URLSearchParams,
): Promise<Proof> {
  const attempt = throttle.begin(request.address);
  const proof = await passkeys.signIn(context, form);
  if (proof) attempt.pass();
  else await attempt.fail(undefined);
  return proof;
}

/**
 * The page of a sign-in, or a step of one at another issuer; with a `form`, the sign-in that its button names. Throws 429.
 */
export async function signIn(parts: SignInParts, at: Entrance, form?: URLSearchParams): Promise<Reply> {
  if (!form) {
    const step = await parts.upstreams?.step(at.request, at.back, at.prompt);
    if (step?.userId !== undefined) return at.enter(step.userId, signedInBy('fed'), []);
    return step?.reply ?? showSignIn(parts, at, step?.status, step?.error);
  }
  const email = form.get('email') ?? '';
  const [proof, error] =
    form.get('action') === 'passkey'
      ? [await checkedPasskey(parts, at, form), 'The passkey is not valid here.']
      : [
          await checkedPassword(parts, at.request, email, form.get('password')),
          'The email or the password is wrong.',
        ];
  return proof
    ? enter(parts, at, proof.userId, proof.amr)
    : showSignIn(parts, { ...at, hint: email.slice(0, 254) }, 422, error);
}

/** The form of a sign-in, and why the last one has failed. */
export async function showSignIn(
  { config, passkeys, upstreams }: SignInParts,
  at: Entrance,
  status = 200,
  error?: string,
): Promise<Reply> {
  const passkey = passkeys.isAvailable ? await passkeys.requestForm(at.context) : undefined;
  const upstream = upstreams?.linksOf(at.back, at.request);
  return at.show(status, signInPage(at, accountLinks(config, at.back), passkey, upstream, error));
}

/** Links the subject of another issuer that waits in the browser, and leads the user on. */
async function enter(
  { upstreams }: SignInParts,
  at: Entrance,
  userId: string,
  amr: readonly string[],
): Promise<Reply> {
  const fields = (await upstreams?.link(at.request, userId, amr, at.scopes)) ?? [];
  return at.enter(userId, signedInBy(...amr), fields);
}

/**
 * The page on which a user who has signed in by the methods `amr` proves the second factor: a passkey, a code of an authenticator
 * app or a recovery code. With a `form` that does, the next step. Failures count against the address and the user. Throws 429.
 */
export async function secondStep(
  parts: SignInParts,
  at: Entrance,
  user: User,
  amr: readonly string[] = [],
  form?: URLSearchParams,
): Promise<Reply> {
  const { passkeys } = parts;
  const proved = form && (await provedBy(parts, at, user, form));
  if (proved) return enter(parts, at, user.id, [...amr, ...proved]);
  const passkey =
    user.hasPasskey && passkeys.isAvailable ? await passkeys.requestForm(at.context) : undefined;
  const error = form && 'The code or the passkey is not valid. Each code is accepted once.';
  return at.show(form ? 422 : 200, secondStepPage(at, user.hasTotp, passkey, error));
}

async function provedBy(
  parts: SignInParts,
  { request, context }: Entrance,
  { id }: User,
  form: URLSearchParams,
): Promise<readonly string[] | undefined> {
  const { throttle, passkeys, secondFactors } = parts;
  const account = `second factor of ${id}`;
  const attempt = throttle.begin(request.address);
  attempt.admit(account);
  const byPasskey = form.has('response') ? await passkeys.signIn(context, form, id) : undefined;
  const byCode = form.has('code') ? await secondFactors.use(id, form.get('code')!) : undefined;
  if (byPasskey || byCode) attempt.pass();
  else await attempt.fail(account);
  if (byCode === 'recovery code') await noteLanguage(parts, request.req.headers, id);
  return byCode ? ['otp', 'mfa'] : byPasskey?.amr;
}
