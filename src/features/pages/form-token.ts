import { createHmac, randomBytes } from 'node:crypto';
import { isEqual, readCookie, writeCookie } from '../../auth/cookies.js';
import type { Request } from '../../http/request.js';
import { invalidForm } from './errors.js';
import { originOf, type Site } from './site.js';

const FORM_COOKIE = 'plinth_form';

/**
 * The tokens of the forms of one page. A token is an HMAC of the caller with a random secret, which the browser stores in
 * a cookie: a form also works after the same user has signed in again. No other origin can read the cookie or the page, and none
 * can submit without both.
 */
export class FormTokens {
  readonly #known: string | undefined;
  readonly #secret: string;
  /** The token of a form whose user is signed out, which shows it again; undefined: that of the caller. */
  retained: string | undefined;
  #isUsed = false;

  constructor(
    readonly request: Pick<Request, 'headers' | 'principal'>,
    readonly site: Site,
  ) {
    this.#known = readCookie(request.headers.cookie, FORM_COOKIE, site.isSecure);
    this.#secret = this.#known ?? randomBytes(18).toString('base64url');
  }

  /** The token for a form. */
  get token(): string {
    this.#isUsed = true;
    return this.retained ?? this.#token();
  }

  /** The fields that a page with these forms needs. */
  get fields(): string[] {
    if (!this.#isUsed || this.#known !== undefined) return [];
    return ['Set-Cookie', writeCookie(FORM_COOKIE, this.#secret, this.site.isSecure)];
  }

  /**
   * Throws 403 unless a browser says that a page of this service submits the form, which no page of another origin can pretend:
   * in Sec-Fetch-Site, or on an address that is not secure in Origin. Behind a proxy the Host may not be that of the public origin.
   */
  requireOrigin(): void {
    const { origin: from, host, 'sec-fetch-site': site } = this.request.headers;
    const own = [originOf(this.site, host), `${this.site.isSecure ? 'https' : 'http'}://${host}`];
    if (site === undefined ? !own.includes(from ?? '') : site !== 'same-origin') throw invalidForm();
  }

  /** Throws 403 unless the form has the token of this browser and session. */
  require(token: string): void {
    if (!isEqual(token, this.#token()) || this.#known === undefined) throw invalidForm();
  }

  #token(): string {
    return createHmac('sha256', this.#secret)
      .update(`form\n${this.request.principal.subject}`)
      .digest('base64url');
  }
}
