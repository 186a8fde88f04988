import { randomBytes } from 'node:crypto';
import type { Core } from '../../app/open-features.js';
import { isEqual, readCookie, writeCookie } from '../../auth/cookies.js';
import { CredentialRejected } from '../../auth/principal.js';
import { usesHttps } from '../../config/parsers.js';
import { rateLimited } from '../../errors/caller-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import type { Collection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { counter } from '../../telemetry/instruments.js';
import { isFromOtherOrigin } from '../accounts/account-requests.js';
import { ACCOUNTS_SQL } from '../accounts/accounts-statements.js';
import { IssuerUsers } from '../accounts/issuer-users.js';
import { ACCOUNTS_SETTINGS, type Upstream } from '../accounts/settings.js';
import { type Person, type Proofs, UpstreamClient, UpstreamError } from '../accounts/upstream-client.js';
import { pageReply, redirectReply } from './pages/page-frame.js';
import { errorPage } from './pages/provider-pages.js';
import type { UpstreamLinks } from './pages/sign-in-page.js';
import { UPSTREAM } from './paths.js';
import { notePassword } from './present-request.js';
import { formToken, seal, unseal } from './sealed-text.js';
import { findUser, lacksSecondFactor } from './user-claims.js';

const COOKIE = 'plinth_upstream';
/** The subject that waits in this browser for the sign-in of the user with its address. */
const LINK_COOKIE = 'plinth_link';
/** For the sign-in at the issuer, and for the one with a password that links an account. */
const LIFETIME_S = 15 * 60;

/** The outcome of a step of a sign-in: a response, a user, or the sign-in page again. */
interface Step {
  readonly reply?: Reply;
  readonly userId?: string;
  readonly status?: number;
  readonly error?: string;
}

/** A subject that waits for the sign-in of the user with its address. */
interface Pending {
  readonly label: string;
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly hash: string;
}

/** A sign-in that a browser has begun. `back`: the page of this service from which it comes. */
interface Begun {
  readonly upstream: string;
  readonly back: string;
  readonly random: string;
}

/**
 * Sign-ins at other issuers, from any page with the form of a sign-in. A cookie, signed and valid for 15 minutes, remembers which one
 * a browser has begun; state, nonce and the secret of PKCE follow from the cookie and the secret of the pages. Nothing is stored.
 */
export class UpstreamSignIn {
  readonly metrics = {
    signIns: counter('plinth_upstream_sign_ins_total', 'Sign-ins at other issuers, by how they ended.', [
      'outcome',
    ]),
  };
  readonly #clients: ReadonlyMap<string, UpstreamClient>;
  readonly #users: IssuerUsers;
  readonly #limit: ReturnType<Core['limitAddresses']>;

  constructor(
    readonly core: Pick<Core, 'config' | 'db' | 'log' | 'limitAddresses'>,
    readonly secret: string,
    users: Collection,
  ) {
    const { config, db, log, limitAddresses } = core;
    const settings = ACCOUNTS_SETTINGS.of(config);
    const clientOf = (upstream: Upstream) => {
      const redirect = `${config.issuer}${UPSTREAM}/${upstream.name}`;
      return new UpstreamClient(upstream, redirect, settings.upstreamTimeoutMs);
    };
    this.#clients = new Map(settings.upstreams.map((each) => [each.name, clientOf(each)]));
    this.#users = new IssuerUsers(db, log, settings, () => users);
    this.#limit = limitAddresses('upstream', { requests: settings.upstreamPerAddress, seconds: 60 });
  }

  /** The buttons of a sign-in page at the path `back`, and the account that the next sign-in of this browser links. */
  linksOf(back: string, { req }: HandledRequest): UpstreamLinks {
    const separator = back.includes('?') ? '&' : '?';
    return {
      buttons: [...this.#clients.values()].map(({ upstream: { name, label } }) => ({
        label,
        href: `${back}${separator}upstream=${name}`,
      })),
      pending: this.#pendingOf(req),
    };
  }

  /** A step of a sign-in, as the address of a page at `back` says; undefined: none, also for a link of another site. Throws 429. */
  async step({ req, address }: HandledRequest, back: string, prompt?: string): Promise<Step | undefined> {
    const { searchParams } = new URL(req.url!, 'http://localhost');
    const client = this.#clients.get(searchParams.get('upstream') ?? '');
    if (client ? isFromOtherOrigin(req) : !searchParams.has('state')) return undefined;
    const seconds = await this.#limit(address);
    if (seconds !== undefined) throw rateLimited(seconds);
    try {
      if (client) return await this.#begin(client, back, prompt === undefined ? {} : { prompt });
      searchParams.delete('return');
      return await this.#complete(searchParams, this.#cookieOf(req, COOKIE), back);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { label } = error.upstream;
      if (error.isCancelled) return this.#refused(`You did not sign in with ${label}.`);
      this.core.log.warn({ err: error, upstream: label }, 'a sign-in at another issuer fails');
      this.metrics.signIns.of('failed').value++;
      return { status: 503, error: `${label} does not sign you in now. Try again.` };
    }
  }

  /** The response to the return of a browser from an issuer: on to the page where the sign-in began. */
  async returned({ req, params }: HandledRequest): Promise<Reply> {
    const begun = this.#open<Begun>('begun', this.#cookieOf(req, COOKIE));
    if (begun?.upstream !== params.upstream) {
      const body = errorPage('invalid_request', 'The sign-in has expired. Start again from the application.');
      return pageReply(400, body);
    }
    const { search } = new URL(req.url!, 'http://localhost');
    const location = begun!.back + (begun!.back.includes('?') ? search.replace('?', '&') : search);
    return redirectReply(location);
  }

  /**
   * Links the subject that waits in a browser to the user who has signed in there, if the user has its address. Waits on while a sign-in
   * with these methods, for these scopes, still needs a second factor. Returns the fields that end the wait.
   */
  async link(
    { req }: HandledRequest,
    userId: string,
    amr: readonly string[],
    scopes?: Iterable<string>,
  ): Promise<string[]> {
    const { config, db } = this.core;
    const pending = this.#pendingOf(req);
    const user = pending && (await findUser(db, userId));
    if (!user || lacksSecondFactor(config, user, amr, scopes ?? user.scopes)) return [];
    const { issuer, subject, email, hash } = pending;
    await db.run(ACCOUNTS_SQL.link_signed_in, [issuer, subject, userId, hash, email]);
    this.metrics.signIns.of('linked').value++;
    return this.#setCookie(LINK_COOKIE, '', 0);
  }

  async #begin(client: UpstreamClient, back: string, more: Readonly<Record<string, string>>): Promise<Step> {
    const random = randomBytes(16).toString('base64url');
    const cookie = this.#seal('begun', { upstream: client.upstream.name, back, random } satisfies Begun);
    const location = await client.address(this.#proofsOf(cookie), more);
    return { reply: redirectReply(location, this.#setCookie(COOKIE, cookie, LIFETIME_S)) };
  }

  async #complete(response: URLSearchParams, cookie: string, back: string): Promise<Step> {
    const begun = this.#open<Begun>('begun', cookie);
    const client = this.#clients.get(begun?.upstream ?? '');
    const proofs = this.#proofsOf(cookie);
    if (!client || begun?.back !== back || !isEqual(response.get('state') ?? '', proofs.state))
      return this.#refused('The sign-in has expired. Try again.', 400);
    return this.#enter(client.upstream.label, await client.personOf(response, proofs), back);
  }

  async #enter(label: string, { issuer, subject, claims }: Person, back: string): Promise<Step> {
    const { db } = this.core;
    const { fields, verifiedEmail = '', hash } = this.#users.valuesOf(claims);
    try {
      const userId = await this.#users.userOf({ issuer, subject, claims, more: async () => ({}) });
      const user = userId === undefined ? undefined : await findUser(db, userId);
      if (!user) return this.#refused('This account cannot sign in.');
      notePassword(user.id, user.passwordVersion);
      this.metrics.signIns.of('ok').value++;
      return { userId: user.id };
    } catch (error) {
      if (error instanceof CredentialRejected) return this.#refused(`${label} does not say who you are.`);
      if (!(error instanceof Problem) || error.status !== 403) throw error;
      const { code, more } = error;
      const { email } = claims;
      if (code === 'ACCOUNT_EXISTS') {
        const [row] = await db.run(ACCOUNTS_SQL.user_with_email, [verifiedEmail]);
        const user = row && (await findUser(db, String(row.id)));
        const known = row ? `the address ${verifiedEmail}` : `a value that must be unique`;
        if (user?.passwordVersion === undefined && !user?.hasPasskey)
          return this.#refused(`An account with ${known} is not connected with ${label}: sign in as before.`);
        const pending = { label, issuer, subject, email: verifiedEmail, hash } satisfies Pending;
        const cookie = this.#setCookie(LINK_COOKIE, this.#seal('link', pending), LIFETIME_S);
        return { reply: redirectReply(back, cookie) };
      }
      if (email !== undefined && fields.email === undefined)
        return this.#refused(`${label} does not say that the address ${email} is yours: verify it there.`);
      if (code === 'ACCOUNT_UNKNOWN') return this.#refused(`There is no account for ${email ?? 'you'} here.`);
      const details = (more.details ?? []) as readonly Failure[];
      const faults = details.map(({ path, message }) => `${path.slice(1)} ${message}`).join(', ');
      return this.#refused(`${label} does not say enough to make an account: ${faults}.`);
    }
  }

  #refused(error: string, status = 403): Step {
    this.metrics.signIns.of('refused').value++;
    return { status, error };
  }

  #pendingOf(req: HandledRequest['req']): Pending | undefined {
    return this.#open<Pending>('link', this.#cookieOf(req, LINK_COOKIE));
  }

  #cookieOf({ headers }: HandledRequest['req'], name: string): string {
    return readCookie(headers.cookie, name, usesHttps(this.core.config)) ?? '';
  }

  /** The browser comes back from another site, so that no cookie is SameSite=Strict. */
  #setCookie(name: string, value: string, seconds: number): string[] {
    return ['Set-Cookie', writeCookie(name, value, usesHttps(this.core.config), seconds, 'Lax')];
  }

  #proofsOf(cookie: string): Proofs {
    const proof = (use: string) => formToken(this.secret, `upstream\n${use}\n${cookie}`);
    return { state: proof('state'), nonce: proof('nonce'), verifier: proof('verifier') };
  }

  #seal(use: string, value: object): string {
    return seal(this.secret, `upstream\n${use}`, value, LIFETIME_S);
  }

  #open<T>(use: string, sealed: string): T | undefined {
    return unseal<T>(this.secret, `upstream\n${use}`, sealed);
  }
}
