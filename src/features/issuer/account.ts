import { createHmac, randomBytes } from 'node:crypto';
import type { Provider } from 'oidc-provider';
import { isEqual, readCookie, SESSION_COOKIE, writeCookie } from '../../auth/cookies.js';
import { isYoungerThan } from '../../auth/principal.js';
import { withOneFactor } from '../../auth/user-scopes.js';
import { setUserFields } from '../../collection/password-writes.js';
import { usesHttps } from '../../config/parsers.js';
import { type Failure, Problem } from '../../errors/problem.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { ACCOUNTS_SETTINGS, hasMail } from '../accounts/settings.js';
import { accountData, logOf } from './account-data.js';
import { CHANGES, change, MAILED_CHANGES, noteLanguage } from './factor-changes.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { errors } from './oidc-provider.js';
import { accountPage, type Entry, signedInPage } from './pages/account-page.js';
import { pageReply, redirectReply, timeText } from './pages/page-frame.js';
import { enrolmentPage, recoveryCodesPage } from './pages/second-factor-page.js';
import { ACCOUNT } from './paths.js';
import { confirmPassword } from './present-request.js';
import { formToken } from './sealed-text.js';
import { SESSION_S } from './settings.js';
import { checkedPassword, type Entrance, secondStep, showSignIn, signIn } from './sign-in.js';
import { signedInBy } from './sign-in-methods.js';
import type { SignInParts } from './sign-in-parts.js';
import { waysOf } from './sign-in-ways.js';
import { findUser, lacksSecondFactor, type User } from './user-claims.js';

const BROWSER_COOKIE = 'plinth_sign_in';

/** How long after a sign-in the user may change its factors, which are ways to sign in for good. */
const RECENT_S = 10 * 60;

type Session = InstanceType<Provider['Session']>;

/** Responds to requests for the page on which users manage their sign-ins. */
export async function account(parts: SignInParts, request: HandledRequest): Promise<Reply> {
  const { req, res, body } = request;
  const found = await parts.provider.Session.get(parts.provider.createContext(req, res) as never);
  const session = found.accountId === undefined ? undefined : found;
  const user = session && (await findUser(parts.db, session.accountId!));
  const form = req.method === 'POST' ? new URLSearchParams(body.toString('utf8')) : undefined;
  const entrance = entranceOf(parts, request, undefined);
  // A form belongs to the session of a user, and before a sign-in to the browser.
  const own = user ? entranceOf(parts, request, session) : entrance;
  const { origin } = new URL(parts.config.issuer!);
  const isForeign = (req.headers.origin ?? origin) !== origin;
  if (form && (isForeign || !isEqual(form.get('csrf') ?? '', own.csrf)))
    return showSignIn(parts, entrance, 403, 'The form has expired. Try again.');
  try {
    if (!user) return await signIn(parts, entrance, form);
    const page = new AccountRequest(parts, own, user, session!);
    const hasFactor = user.hasTotp || (user.hasPasskey && parts.passkeys.isAvailable);
    if (hasFactor && page.lacksFactor && form?.get('action') !== 'sign-out')
      return await secondStep(parts, own, user, session!.amr, form);
    return form ? await page.act(form) : await page.arrive();
  } catch (error) {
    const isReset = error instanceof Problem && error.code === 'CURRENT_PASSWORD_WRONG';
    if (!isReset && !(error instanceof errors.InvalidGrant)) throw error;
    return showSignIn(parts, entrance, 403, 'The password was changed meanwhile. Sign in again.');
  }
}

/** The page of a sign-in, by the secret by which the service knows a browser, or of the second step of a session. */
function entranceOf(parts: SignInParts, request: HandledRequest, session: Session | undefined): Entrance {
  const { config, csrfSecret, provider } = parts;
  const isSecure = usesHttps(config);
  const browser =
    readCookie(request.req.headers.cookie, BROWSER_COOKIE, isSecure) ?? randomBytes(16).toString('base64url');
  const cookie = ['Set-Cookie', writeCookie(BROWSER_COOKIE, browser, isSecure, undefined, 'Lax')];
  const target = targetOf(parts, request);
  const back =
    target === undefined
      ? ACCOUNT
      : `${ACCOUNT}?return=${encodeURIComponent(target.slice(new URL(target).origin.length))}`;
  const uid = session?.uid ?? `browser ${browser}`;
  return {
    ...{ request, back, context: `account ${uid}`, csrf: formToken(csrfSecret, `account\n${uid}`) },
    show: (status, page) => pageReply(status, page, session ? [] : cookie),
    enter: async (userId, { amr }, fields) => {
      const cookies = await startSession(parts, session ?? new provider.Session(), userId, amr);
      const all = [...cookies, ...fields];
      if (request.req.method === 'POST') return redirectReply(back, all);
      // A redirect would still come from the other issuer, without the cookie that no other site may use.
      return pageReply(200, signedInPage(back), ['Refresh', `0; url=${back}`, ...all]);
    },
  };
}

/** The address from which the user came to sign in; undefined: none, or not one of this service. */
function targetOf({ config }: SignInParts, { req }: HandledRequest): string | undefined {
  const { origin } = new URL(config.issuer!);
  const target = new URL(req.url!, origin).searchParams.get('return') ?? '';
  if (!target.startsWith('/') || !URL.canParse(target, origin)) return undefined;
  const url = new URL(target, origin);
  // Absolute, since the path of `/.//example.org` would name another host.
  return url.origin === origin ? url.href : undefined;
}

/** Signs a user in to a session, which gets another id. Returns the fields that set its cookies. */
async function startSession(
  parts: SignInParts,
  session: Session,
  accountId: string,
  amr: readonly string[],
): Promise<string[]> {
  session.loginAccount({ accountId, ...signedInBy(...amr) });
  session.resetIdentifier();
  await session.save(SESSION_S);
  return sessionCookies(parts, session.jti);
}

/**
 * The fields that set the cookies of a session; an empty id removes them. Pages know the user by a cookie that no request from another
 * site carries. The other one, with its signature (Keygrip), is that of oidc-provider, which a request from the site of a client must carry.
 */
function sessionCookies({ config, provider, csrfSecret }: SignInParts, id: string): string[] {
  const isSecure = usesHttps(config);
  const age = id === '' ? 0 : SESSION_S;
  const signature = createHmac('sha1', csrfSecret)
    .update(`${provider.cookieName('session')}=${id}`)
    .digest('base64url');
  return [
    ...['Set-Cookie', writeCookie(SESSION_COOKIE, id, isSecure, age)],
    ...['Set-Cookie', writeCookie('plinth_session', id, isSecure, age, 'Lax')],
    ...['Set-Cookie', writeCookie('plinth_session.sig', signature, isSecure, age, 'Lax')],
  ];
}

/** One request of a user for the page. */
class AccountRequest {
  readonly #isRecent: boolean;

  constructor(
    readonly parts: SignInParts,
    readonly at: Entrance,
    readonly user: User,
    readonly session: Session,
  ) {
    this.#isRecent = isYoungerThan(RECENT_S, session.loginTs);
  }

  get lacksFactor(): boolean {
    const { parts, user, session } = this;
    return lacksSecondFactor(parts.config, user, session.amr, user.scopes);
  }

  /** Lets the pages of the service know the user, and returns to the one that sent the user here. */
  async arrive(): Promise<Reply> {
    const { parts, session } = this;
    const { request } = this.at;
    if (new URL(request.req.url!, 'http://localhost').searchParams.has('download'))
      return accountData(parts.db, this.user);
    const cookies = sessionCookies(parts, session.jti);
    const target = targetOf(parts, request);
    // Users who need a second factor and have none set it up here.
    return target !== undefined && !this.lacksFactor
      ? redirectReply(target, cookies)
      : this.show({}, cookies);
  }

  async show(
    more: { readonly message?: string; readonly error?: string | undefined },
    fields: readonly string[] = [],
  ): Promise<Reply> {
    const { parts, user, session } = this;
    const { config, db, passkeys } = parts;
    const { email } = user;
    const [ways, passkey, sessions, grants, log] = await Promise.all([
      waysOf(parts, user),
      passkeys.isAvailable ? this.#isRecent && passkeys.creationForm(user.id, email) : undefined,
      db.run(ISSUER_SQL.sessions_of_user, [user.id]),
      db.run(ISSUER_SQL.consents_of_user, [user.id]),
      logOf(db, user.id),
    ]);
    const own = ACCOUNTS_SETTINGS.of(config);
    const page = accountPage({
      ...{ email, ways, passkey, log, csrf: this.at.csrf, hasMail: hasMail(own) },
      home: `${config.publicPrefix}/`,
      withheld: this.lacksFactor ? withOneFactor(config, user.scopes).withheld : [],
      labels: new Map(own.upstreams.map(({ issuer, label }) => [issuer, label])),
      sessions: sessions
        .filter(({ uid }) => uid !== session.uid)
        .map(({ uid, began }): Entry => ({ id: String(uid), text: `Signed in ${timeText(Number(began))}` })),
      grants: grants.map(({ id, name, scopes }): Entry => ({ id: String(id), text: `${name}: ${scopes}` })),
      ...more,
    });
    return pageReply(more.error === undefined ? 200 : 422, page, fields);
  }

  async act(form: URLSearchParams): Promise<Reply> {
    const { parts, user, session } = this;
    const action = form.get('action') ?? '';
    const id = form.get('id') ?? '';
    if (action === 'sign-out') {
      await session.destroy();
      return redirectReply(ACCOUNT, sessionCookies(parts, ''));
    }
    if (action === 'revoke') await parts.db.run(ISSUER_SQL.revoke_client, [user.id, id]);
    if (action === 'end-session') await parts.db.run(ISSUER_SQL.end_session, [user.id, id]);
    try {
      if (action === 'change-password') return await this.#changePassword(form);
      if (MAILED_CHANGES.includes(action)) return await this.#requestChange(form);
      return Object.hasOwn(CHANGES, action) ? await this.#changeFactors(form) : redirectReply(ACCOUNT);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'VALIDATION_ERROR') throw error;
      const [failure] = error.more.details as readonly Failure[];
      return this.show({ error: `The new ${action.replace('change-', '')} ${failure!.message}.` });
    }
  }

  #change(form: URLSearchParams) {
    return change(this.parts, this.at.request.req.headers, this.user, (name) => form.get(name) ?? '');
  }

  async #changeFactors(form: URLSearchParams): Promise<Reply> {
    const { parts, user, session } = this;
    if (!this.#isRecent) return this.show({ error: 'Nothing was changed. Sign out and sign in again.' });
    const { proved, shown, fault } = await this.#change(form);
    const amr = [...(session.amr ?? []), ...(proved ?? [])];
    const cookies = proved ? await startSession(parts, session, user.id, amr) : [];
    const error = fault?.message;
    const page = shown?.recovery_codes
      ? recoveryCodesPage(shown.recovery_codes)
      : shown?.app && enrolmentPage(this.at.csrf, shown.app, error);
    if (page === undefined) return error === undefined ? redirectReply(ACCOUNT) : this.show({ error });
    return pageReply(error === undefined ? 200 : 422, page, cookies);
  }

  /** The version of the current password that a form has; undefined: the password is wrong. */
  async #confirmedBy(form: URLSearchParams): Promise<number | undefined> {
    const { parts, at, user } = this;
    const confirmed = await checkedPassword(parts, at.request, user.email, form.get('current'));
    return confirmed?.userId === user.id ? confirmed.passwordVersion : undefined;
  }

  async #changePassword(form: URLSearchParams): Promise<Reply> {
    const { parts, user, session } = this;
    const { request } = this.at;
    const version = await this.#confirmedBy(form);
    if (version === undefined) return this.show({ error: 'The current password is wrong.' });
    const password = form.get('password') ?? '';
    await setUserFields(parts.users, user.id, { password }, { confirmedBy: { userId: user.id, version } });
    confirmPassword(user.id, version + 1);
    await noteLanguage(parts, request.req.headers, user.id);
    // All sessions have ended, this one too.
    const renewed = new parts.provider.Session();
    const cookies = await startSession(parts, renewed, user.id, ['pwd', ...(session.amr ?? [])]);
    const message =
      'The password was changed. Passkeys, other sessions and the access of applications have ended.';
    return new AccountRequest(parts, entranceOf(parts, request, renewed), user, renewed).show(
      { message },
      cookies,
    );
  }

  /** Sends the messages that confirm another address, or the end of the account. */
  async #requestChange(form: URLSearchParams): Promise<Reply> {
    if (this.user.passwordVersion === undefined) {
      if (!this.#isRecent) return this.show({ error: 'Sign out and sign in again first.' });
    } else if ((await this.#confirmedBy(form)) === undefined)
      return this.show({ error: 'The current password is wrong.' });
    const { fault } = await this.#change(form);
    if (fault) return redirectReply(ACCOUNT);
    return this.show({ message: 'A message with a link is on its way: confirm it there.' });
  }
}
