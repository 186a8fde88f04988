import { randomBytes } from 'node:crypto';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { isEqual, readCookie, SESSION_COOKIE, writeCookie } from '../../auth/cookies.js';
import { isYoungerThan } from '../../auth/principal.js';
import { withOneFactor } from '../../auth/user-scopes.js';
import { setUserFields } from '../../collection/password-writes.js';
import { usesHttps } from '../../config/parsers.js';
import type { Db } from '../../db/db.js';
import { type Failure, Problem } from '../../errors/problem.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { ACCOUNTS_SETTINGS, accountLinks } from '../accounts/settings.js';
import { accountData, logOf } from './account-data.js';
import { changeFactors, FACTOR_CHANGES, noteLanguage, requestByMail } from './factor-changes.js';
import { checkedPassword } from './interactions.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { errors } from './oidc-provider.js';
import { accountPage, type Entry, signedInPage } from './pages/account-page.js';
import { type PasskeyForm, pageReply, redirectReply, timeText } from './pages/page-frame.js';
import { enrolmentPage, recoveryCodesPage } from './pages/second-factor-page.js';
import { signInPage } from './pages/sign-in-page.js';
import { formToken } from './passkeys.js';
import { ACCOUNT } from './paths.js';
import { confirmPassword } from './present-request.js';
import { secondStep } from './second-step.js';
import { SESSION_S } from './settings.js';
import { signedInBy } from './sign-in-methods.js';
import type { AccountParts } from './sign-in-parts.js';
import { waysOf } from './sign-in-ways.js';
import { findUser, lacksSecondFactor, type User } from './user-claims.js';

const BROWSER_COOKIE = 'plinth_sign_in';

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
  const hasFactor = user?.hasTotp || (user?.hasPasskey && parts.passkeys.isAvailable);
  const isHalf = user && hasFactor && page.lacksSecondFactor(user, session!);
  if (request.req.method !== 'POST') {
    if (isHalf) return page.secondStep(user, session!);
    return user ? page.enter(user, session!) : page.arrive();
  }
  const form = new URLSearchParams(request.body.toString('utf8'));
  if (!page.isOwnForm(form, session)) return page.showSignIn(403, '', 'The form has expired. Try again.');
  try {
    if (isHalf && form.get('action') !== 'sign-out') return await page.secondStep(user, session!, form);
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

  /** A form belongs to the session, and before a sign-in to the browser. */
  isOwnForm(form: URLSearchParams, session: Session | undefined): boolean {
    const { origin } = this.request.req.headers;
    if (origin !== undefined && origin !== new URL(this.parts.config.issuer!).origin) return false;
    const browser = this.#browser;
    if (!session && browser === undefined) return false;
    return isEqual(form.get('csrf') ?? '', this.#csrfOf(session ? session.uid : `browser ${browser}`));
  }

  /** The secret by which the service knows a browser before a sign-in. */
  get #browser(): string | undefined {
    return readCookie(this.request.req.headers.cookie, BROWSER_COOKIE, usesHttps(this.parts.config));
  }

  /** The form of the sign-in, or a step of a sign-in at another issuer. */
  async arrive(): Promise<Reply> {
    const step = await this.parts.upstreams?.step(this.request, this.#back);
    if (step?.userId === undefined)
      return step?.reply ?? this.showSignIn(step?.status ?? 200, '', step?.error);
    const target = this.#back;
    const { jti } = await beginSession(this.provider, step.userId, 'fed');
    // A redirect would still come from the other issuer, without the cookie that no other site may use.
    return pageReply(200, signedInPage(target), ['Refresh', `0; url=${target}`, ...this.#cookies(jti)]);
  }

  showSignIn(status: number, email: string, error?: string): Reply {
    const { config, upstreams } = this.parts;
    const browser = this.#browser ?? randomBytes(16).toString('base64url');
    const links = accountLinks(config, this.#back);
    const upstream = upstreams?.linksOf(this.#back, this.request);
    const csrf = this.#csrfOf(`browser ${browser}`);
    const own = { client: undefined, passkey: undefined };
    const page = signInPage({ ...own, csrf, email, links, error, upstream });
    const cookie = writeCookie(BROWSER_COOKIE, browser, usesHttps(config), undefined, 'Lax');
    return pageReply(status, page, ['Set-Cookie', cookie]);
  }

  async signIn(form: URLSearchParams): Promise<Reply> {
    const email = form.get('email') ?? '';
    const user = await checkedPassword(this.parts, this.request, email, form.get('password'));
    if (!user) return this.showSignIn(422, email.slice(0, 254), 'The email or the password is wrong.');
    const { jti } = await beginSession(this.provider, user.userId, 'pwd');
    return redirect([...this.#cookies(jti), ...(await this.#link(user.userId, ['pwd']))], this.#back);
  }

  /** Links the subject of another issuer that waits in the browser. Returns the fields that end the wait. */
  async #link(userId: string, amr: readonly string[]): Promise<string[]> {
    return (await this.parts.upstreams?.link(this.request, userId, amr)) ?? [];
  }

  lacksSecondFactor(user: User, { amr }: Session): boolean {
    return lacksSecondFactor(this.parts.config, user, amr, user.scopes);
  }

  /** The page on which the user proves the second factor; with a `form` that does, the next page. */
  async secondStep(user: User, session: Session, form?: URLSearchParams): Promise<Reply> {
    const { uid, amr } = session;
    const first = { user, context: `account ${uid}`, amr, csrf: this.#csrfOf(uid) };
    const step = await secondStep(this.parts, this.request, first, form);
    if (typeof step === 'string') return pageReply(form ? 422 : 200, step);
    const cookies = await this.#renew(session, step.amr);
    return redirect([...cookies, ...(await this.#link(user.id, step.amr))], this.#returnTo());
  }

  /** Gives a session whose user has proved another factor another id. Returns the fields that set its cookies. */
  async #renew(session: Session, amr: readonly string[]): Promise<string[]> {
    session.loginAccount({ accountId: session.accountId!, ...signedInBy(...amr) });
    session.resetIdentifier();
    await session.save(SESSION_S);
    return this.#cookies(session.jti);
  }

  /** Lets the pages of the service know the user, and returns to the one that sent the user here. */
  async enter(user: User, session: Session): Promise<Reply> {
    const cookie = browserCookie(this.parts.config, session.jti);
    if (new URL(this.request.req.url!, 'http://localhost').searchParams.has('download'))
      return accountData(this.parts.db, user);
    const target = this.#returnTo();
    // Users who need a second factor and have none set it up here.
    if (target !== undefined && !this.lacksSecondFactor(user, session)) return redirect(cookie, target);
    const page = await this.show(user, session);
    return { ...page, headers: [...page.headers, ...cookie] };
  }

  /** The address of this page, with the one from which the user came. */
  get #back(): string {
    const target = this.#returnTo();
    return target === undefined
      ? ACCOUNT
      : `${ACCOUNT}?return=${encodeURIComponent(target.slice(new URL(target).origin.length))}`;
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
    const { config, db, passkeys: keys } = this.parts;
    const email = String(user.record.email);
    const [ways, passkey, sessions, grants, log] = await Promise.all([
      waysOf(this.parts, user),
      keys.isAvailable ? this.#passkeyForm(user.id, email, session) : undefined,
      sessionsOf(db, user.id, session.uid),
      grantsOf(db, user.id),
      logOf(db, user.id),
    ]);
    const csrf = this.#csrfOf(session.uid);
    const home = `${config.publicPrefix}/`;
    const withheld = this.lacksSecondFactor(user, session) ? withOneFactor(config, user.scopes).withheld : [];
    const labels = new Map(
      ACCOUNTS_SETTINGS.of(config).upstreams.map(({ issuer, label }) => [issuer, label]),
    );
    const own = { email, ways, labels, passkey, sessions, grants, withheld, log };
    const hasMail = accountLinks(config).forgotten !== undefined;
    const page = accountPage({ home, csrf, hasMail, ...own, ...more });
    return pageReply(more.error === undefined ? 200 : 422, page);
  }

  async #passkeyForm(id: string, email: string, session: Session): Promise<PasskeyForm | 'stale'> {
    return isRecent(session) ? this.parts.passkeys.creationForm({ id, email }) : 'stale';
  }

  async act(user: User, session: Session, form: URLSearchParams): Promise<Reply> {
    const { db } = this.parts;
    const id = form.get('id') ?? '';
    if (Object.hasOwn(FACTOR_CHANGES, form.get('action') ?? ''))
      return this.#changeFactors(user, session, form);
    switch (form.get('action')) {
      case 'revoke':
        await db.run(ISSUER_SQL.revoke_client, [user.id, id]);
        return redirect();
      case 'end-session':
        await db.run(ISSUER_SQL.end_session, [user.id, id]);
        return redirect();
      case 'sign-out':
        await session.destroy();
        return redirect(this.#cookies(''));
      case 'change-password':
        return this.#changePassword(user, session, form);
      case 'change-address':
      case 'delete-account':
        return this.#requestChange(user, session, form);
      default:
        return redirect();
    }
  }

  async #changeFactors(user: User, session: Session, form: URLSearchParams): Promise<Reply> {
    if (!isRecent(session))
      return this.show(user, session, { error: 'Nothing was changed. Sign out and sign in again.' });
    const { headers } = this.request.req;
    const change = await changeFactors(this.parts, headers, user, (name) => form.get(name) ?? '');
    const { proved = [], shown, fault } = change!;
    const cookies = proved.length > 0 ? await this.#renew(session, [...(session.amr ?? []), ...proved]) : [];
    const error = fault?.message;
    const page = shown?.recovery_codes
      ? recoveryCodesPage(shown.recovery_codes)
      : shown?.app && enrolmentPage(this.#csrfOf(session.uid), shown.app, error);
    if (page === undefined) return error === undefined ? redirect() : this.show(user, session, { error });
    return pageReply(error === undefined ? 200 : 422, page, cookies);
  }

  async #changePassword(user: User, session: Session, form: URLSearchParams): Promise<Reply> {
    const email = String(user.record.email);
    const confirmed = await checkedPassword(this.parts, this.request, email, form.get('current'));
    if (confirmed?.userId !== user.id)
      return this.show(user, session, { error: 'The current password is wrong.' });
    try {
      const confirmedBy = { userId: user.id, version: confirmed.passwordVersion };
      const password = form.get('password') ?? '';
      await setUserFields(this.parts.users, user.id, { password }, { confirmedBy });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // The password was reset while the current one was verified.
      if (error.code === 'CURRENT_PASSWORD_WRONG') return this.showSignIn(403, '', ENDED);
      if (error.code !== 'VALIDATION_ERROR') throw error;
      const [failure] = error.more.details as readonly Failure[];
      return this.show(user, session, { error: `The new password ${failure!.message}.` });
    }
    confirmPassword(user.id, confirmed.passwordVersion + 1);
    await noteLanguage(this.parts, this.request.req.headers, user.id);
    // All sessions have ended, this one too.
    const renewed = await beginSession(this.provider, user.id, 'pwd', ...(session.amr ?? []));
    const message =
      'The password was changed. Passkeys, other sessions and the access of applications have ended.';
    const { headers = [], ...page } = await this.show(user, renewed, { message });
    return { ...page, headers: [...headers, ...this.#cookies(renewed.jti)] };
  }

  /** Sends the messages that confirm another address, or the end of the account. */
  async #requestChange(user: User, session: Session, form: URLSearchParams): Promise<Reply> {
    const email = String(user.record.email);
    const isConfirmed =
      user.passwordVersion === undefined
        ? isRecent(session)
        : (await checkedPassword(this.parts, this.request, email, form.get('current')))?.userId === user.id;
    if (!isConfirmed)
      return this.show(user, session, {
        error:
          user.passwordVersion === undefined
            ? 'Sign out and sign in again first.'
            : 'The current password is wrong.',
      });
    const { headers } = this.request.req;
    try {
      const given = form.get('email') ?? '';
      const { fault } = await requestByMail(this.parts, headers, user, form.get('action')!, given);
      if (fault) return redirect();
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'VALIDATION_ERROR') throw error;
      const [failure] = error.more.details as readonly Failure[];
      return this.show(user, session, { error: `The new address ${failure!.message}.` });
    }
    return this.show(user, session, { message: 'A message with a link is on its way: confirm it there.' });
  }

  #csrfOf(uid: string): string {
    return formToken(this.parts.csrfSecret, `account\n${uid}`);
  }

  /** The fields that set the cookies of a session; an empty id removes them. */
  #cookies(id: string): string[] {
    const { config } = this.parts;
    return [...providerCookie(this.provider, config, this.request.req, id), ...browserCookie(config, id)];
  }
}

const redirect = (cookies: readonly string[] = [], target: string = ACCOUNT): Reply =>
  redirectReply(target, cookies);

type Session = InstanceType<Provider['Session']>;
type Config = AccountParts['config'];

/** How long after a sign-in the user may change its factors, which are ways to sign in for good. */
const RECENT_S = 10 * 60;

/** The session of a signed-in user; undefined: no user is signed in. */
async function sessionOf(provider: Provider, { req, res }: HandledRequest): Promise<Session | undefined> {
  const found = await provider.Session.get(provider.createContext(req, res) as never);
  return found.accountId === undefined ? undefined : found;
}

/** A new session of a user who has entered the password, or signed in at another issuer. */
async function beginSession(provider: Provider, accountId: string, ...amr: string[]): Promise<Session> {
  const session = new provider.Session();
  session.loginAccount({ accountId, ...signedInBy(...amr) });
  await session.save(SESSION_S);
  return session;
}

const isRecent = ({ loginTs }: Session): boolean => isYoungerThan(RECENT_S, loginTs);

/**
 * The cookie by which pages know the user. Unlike that of oidc-provider, which a request from the site of a client must
 * carry, no request from another site carries it.
 */
function browserCookie(config: Config, id: string): string[] {
  return ['Set-Cookie', writeCookie(SESSION_COOKIE, id, usesHttps(config), id === '' ? 0 : SESSION_S)];
}

/** The fields that set the cookie of the session, in the form that oidc-provider reads. */
function providerCookie(provider: Provider, config: Config, req: IncomingMessage, id: string): string[] {
  // Node 20 drops repeated fields of a response on which a field was set before, even if it was removed again.
  const carrier = new ServerResponse(req);
  const { cookies } = provider.createContext(req, carrier);
  const secure = config.issuer!.startsWith('https:');
  cookies.secure = secure;
  cookies.set(provider.cookieName('session'), id, {
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
    overwrite: true,
    path: '/',
    secure,
    maxAge: id === '' ? 0 : SESSION_S * 1000,
  });
  return [carrier.getHeader('Set-Cookie') ?? []].flat().flatMap((field) => ['Set-Cookie', String(field)]);
}

/** The other sessions of a user, the newest first; `current` is the one of the request. */
async function sessionsOf(db: Db, userId: string, current: string): Promise<Entry[]> {
  const rows = await db.run(ISSUER_SQL.sessions_of_user, [userId]);
  return rows
    .filter(({ uid }) => uid !== current)
    .map(({ uid, began }) => ({ id: String(uid), text: `Signed in ${timeText(Number(began))}` }));
}

/** The clients to which a user has allowed access. */
async function grantsOf(db: Db, userId: string): Promise<Entry[]> {
  const rows = await db.run(ISSUER_SQL.consents_of_user, [userId]);
  return rows.map(({ id, name, scopes }) => ({ id: String(id), text: `${name}: ${scopes}` }));
}
