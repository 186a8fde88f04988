import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isEqual, readCookie, SESSION_COOKIE, writeCookie } from '../../auth/cookies.js';
import { hasScheme, isHostOf } from '../../http/request-origin.js';
import { invalidForm } from './errors.js';
import type { Site } from './site.js';

const FORM_COOKIE = 'plinth_form';
const SECRET_BYTES = 18;
const SECRET = /^[\w-]{24}$/;

/**
 * The tokens of the forms of one page. A token is an HMAC of the session with a random secret, which the browser stores in
 * a cookie. No other origin can read the cookie or the page, and none can submit without both.
 */
export class FormTokens {
  readonly #known: string | undefined;
  readonly #secret: string;
  readonly #session: string;
  #isUsed = false;

  constructor(
    readonly headers: IncomingHttpHeaders,
    readonly site: Pick<Site, 'isSecure'>,
  ) {
    const known = readCookie(headers.cookie, FORM_COOKIE, site.isSecure);
    this.#known = known !== undefined && SECRET.test(known) ? known : undefined;
    this.#secret = this.#known ?? randomBytes(SECRET_BYTES).toString('base64url');
    this.#session = readCookie(headers.cookie, SESSION_COOKIE, site.isSecure) ?? '';
  }

  /** The token for a form. */
  get token(): string {
    this.#isUsed = true;
    return this.#token();
  }

  /** The fields that a page with these forms needs. */
  get fields(): string[] {
    if (!this.#isUsed || this.#known !== undefined) return [];
    return ['Set-Cookie', writeCookie(FORM_COOKIE, this.#secret, this.site.isSecure)];
  }

  /** Throws 403 unless a page of this service submits the form. */
  requireOrigin(origin: string): void {
    if (!this.#isSameOrigin(origin)) throw invalidForm();
  }

  /** Throws 403 unless the form has the token of this browser and session. */
  require(token: string): void {
    if (!isEqual(token, this.#token()) || this.#known === undefined) throw invalidForm();
  }

  #token(): string {
    return createHmac('sha256', this.#secret).update(`form\n${this.#session}`).digest('base64url');
  }

  /**
   * Whether a browser says that the request comes from a page of this service. `origin` is the public one; behind a proxy
   * the Host may be another. A page of another origin can set none of these fields. A browser that names the site has
   * compared the schemes.
   */
  #isSameOrigin(origin: string): boolean {
    const { origin: from, host, 'sec-fetch-site': site } = this.headers;
    if (site !== undefined && site !== 'same-origin') return false;
    if (from === undefined) return site !== undefined;
    if (from === origin) return true;
    return isHostOf(from, host) && (site !== undefined || hasScheme(from, this.site.isSecure));
  }
}
