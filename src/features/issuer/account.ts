import type { Provider } from 'oidc-provider';
import { setPassword } from '../../actions/set-password.js';
import { isEqual } from '../../auth/cookies.js';
import { type Failure, Problem } from '../../errors/problem.js';
import type { Collection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import {
  beginSession,
  browserCookie,
  isRecent,
  type Session,
  sessionCookies,
  sessionOf,
} from './account-session.js';
import { checkedPassword, type InteractionParts } from './interactions.js';
import { errors } from './oidc-provider.js';
import { accountPage, accountSignInPage } from './pages/account-page.js';
import { pageHeaders } from './pages/page-frame.js';
import type { PasskeyForm } from './pages/passkey.js';
import { formToken } from './passkeys.js';
import { ACCOUNT } from './paths.js';
import { confirmPassword } from './seen-passwords.js';
import { findUser, type User } from './user-claims.js';
import { endSession, grantsOf, revokeClient, sessionsOf } from './user-grants.js';

export interface AccountParts extends InteractionParts {
  /** The users that sign in. */
  readonly users: Collection;
}

const ENDED = 'The password was changed meanwhile. Sign in again.';

/** Responds to requests for the page on which users manage their sign-ins. */
export async function account(
  provider: Provider,
  parts: AccountParts,
  request: HandledRequest,
): Promise<Reply> {
  const session = await sessionOf(provider, request);
  const user = session?.accountId === undefined ? undefined : await findUser(parts.db, session.accountId);
  const page = new AccountRequest(provider, parts, request);
  if (request.req.method !== 'POST') return user ? page.enter(user, session!) : page.showSignIn(200, '');
  const form = new URLSearchParams(request.body.toString('utf8'));
  if (!page.isOwnForm(form, session)) return page.showSignIn(403, '', 'The form has expired. Try again.');
  try {
    return await (user ? page.act(user, session!, form) : page.signIn(form));
  } catch (error) {
    if (!(error instanceof errors.InvalidGrant)) throw error;
    return page.showSignIn(403, '', ENDED);
  }
}

/** One request for the page. */
class AccountRequest {
  constructor(
    readonly provider: Provider,
    readonly parts: AccountParts,
    readonly request: HandledRequest,
  ) {}

  /** Before a sign-in there is no session to bind the form to: browsers name the origin of every form. */
  isOwnForm(form: URLSearchParams, session: Session | undefined): boolean {
    const { origin } = this.request.req.headers;
    if (origin !== undefined && origin !== new URL(this.parts.config.issuer!).origin) return false;
    return isEqual(form.get('csrf') ?? '', this.#csrfOf(session?.uid ?? ''));
  }

  async showSignIn(status: number, email: string, error?: string): Promise<Reply> {
    return reply(status, accountSignInPage(this.#csrfOf(''), email, error));
  }

  async signIn(form: URLSearchParams): Promise<Reply> {
    const email = form.get('email') ?? '';
    const user = await checkedPassword(this.parts, this.request, email, form.get('password'));
    if (!user) return this.showSignIn(422, email.slice(0, 254), 'The email or the password is wrong.');
    return redirect(this.#cookies((await beginSession(this.provider, user.userId)).jti), this.#returnTo());
  }

  /** Lets the pages of the service know the user, and returns to the one that sent the user here. */
  async enter(user: User, session: Session): Promise<Reply> {
    const cookie = browserCookie(this.parts.config, session.jti);
    const target = this.#returnTo();
    if (target !== undefined) return redirect(cookie, target);
    const page = await this.show(user, session);
    return { ...page, headers: [...page.headers, ...cookie] };
  }

  /** The address from which the user came to sign in; undefined: none, or not one of this service. */
  #returnTo(): string | undefined {
    const { origin } = new URL(this.parts.config.issuer!);
    const target = new URL(this.request.req.url!, origin).searchParams.get('return') ?? '';
    if (!target.startsWith('/') || !URL.canParse(target, origin)) return undefined;
    const url = new URL(target, origin);
    // Absolute, since the path of `/.//example.org` would name another host.
    return url.origin === origin ? url.href : undefined;
  }

  async show(user: User, session: Session, more: { message?: string; error?: string } = {}): Promise<Reply> {
    const { db, passkeys: own } = this.parts;
    const email = String(user.record.email);
    const [passkeys, passkey, sessions, grants] = await Promise.all([
      own.list(user.id),
      own.isAvailable ? this.#passkeyForm(user.id, email, session) : undefined,
      sessionsOf(db, user.id, session.uid),
      grantsOf(db, user.id),
    ]);
    const csrf = this.#csrfOf(session.uid);
    const home = `${this.parts.config.publicPrefix}/`;
    const page = accountPage({ home, email, csrf, sessions, grants, passkeys, passkey, ...more });
    return reply(more.error === undefined ? 200 : 422, page);
  }

  async #passkeyForm(id: string, email: string, session: Session): Promise<PasskeyForm | 'stale'> {
    return isRecent(session) ? this.parts.passkeys.creationForm({ id, email }) : 'stale';
  }

  async act(user: User, session: Session, form: URLSearchParams): Promise<Reply> {
    const { db } = this.parts;
    const id = form.get('id') ?? '';
    switch (form.get('action')) {
      case 'revoke':
        await revokeClient(db, user.id, id);
        return redirect();
      case 'end-session':
        await endSession(db, user.id, id);
        return redirect();
      case 'passkey':
        return isRecent(session) &&
          (await this.parts.passkeys.add(user.id, form.get('response') ?? '', form.get('token') ?? ''))
          ? redirect()
          : this.show(user, session, { error: 'The passkey was not added.' });
      case 'remove-passkey':
        await this.parts.passkeys.remove(user.id, id);
        return redirect();
      case 'sign-out':
        await session.destroy();
        return redirect(this.#cookies(''));
      case 'change-password':
        return this.#changePassword(user, session, form);
      default:
        return redirect();
    }
  }

  async #changePassword(user: User, session: Session, form: URLSearchParams): Promise<Reply> {
    const email = String(user.record.email);
    const confirmed = await checkedPassword(this.parts, this.request, email, form.get('current'));
    if (confirmed?.userId !== user.id)
      return this.show(user, session, { error: 'The current password is wrong.' });
    try {
      await setPassword(this.parts.users, user.id, form.get('password') ?? '', {
        userId: user.id,
        version: confirmed.passwordVersion,
      });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // The password was reset while the current one was verified.
      if (error.code === 'CURRENT_PASSWORD_WRONG') return this.showSignIn(403, '', ENDED);
      if (error.code !== 'VALIDATION_ERROR') throw error;
      const [failure] = error.more.details as readonly Failure[];
      return this.show(user, session, { error: `The new password ${failure!.message}.` });
    }
    confirmPassword(user.id, confirmed.passwordVersion + 1);
    // All sessions have ended, this one too.
    const renewed = await beginSession(this.provider, user.id);
    const message =
      'The password was changed. Passkeys, other sessions and the access of applications have ended.';
    const { headers = [], ...page } = await this.show(user, renewed, { message });
    return { ...page, headers: [...headers, ...this.#cookies(renewed.jti)] };
  }

  #csrfOf(uid: string): string {
    return formToken(this.parts.csrfSecret, `account\n${uid}`);
  }

  /** The fields that set the cookies of a session; an empty id removes them. */
  #cookies(id: string): string[] {
    return sessionCookies(this.provider, this.parts.config, this.request.req, id);
  }
}

const redirect = (cookies: readonly string[] = [], target: string = ACCOUNT): Reply => ({
  status: 303,
  headers: ['Location', target, 'Cache-Control', 'no-store', ...cookies],
});

const reply = (status: number, body: string): Reply => ({ status, headers: pageHeaders(), body });
