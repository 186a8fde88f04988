const STORED = 'session';
const PENDING = 'sign-in';
/** A token that expires sooner is renewed before it is used. */
const MARGIN_MS = 30_000;

/**
 * A user that signs in at the service's authorization server: authorization code with PKCE (RFC 7636), refresh tokens, and
 * RP-initiated logout. The tokens are in sessionStorage, so that a tab has a session of its own, which a reload leaves.
 */
export class Session {
  #metadata;
  #tokens = JSON.parse(sessionStorage.getItem(STORED) ?? 'null');
  #renewal;

  /** `onEnd` is called when the session has ended: the user must sign in again. */
  constructor({ service, clientId, scope, redirectUri, onEnd }) {
    Object.assign(this, { service, clientId, scope, redirectUri, onEnd });
  }

  get isSignedIn() {
    return this.#tokens !== null;
  }

  /** Goes to the authorization server, which returns to `redirectUri`. */
  async signIn() {
    const { authorization_endpoint: endpoint } = await this.#discover();
    const pending = { verifier: random(), state: random(), nonce: random() };
    sessionStorage.setItem(PENDING, JSON.stringify(pending));
    const query = new URLSearchParams({
      client_id: this.clientId,
      response_type: 'code',
      redirect_uri: this.redirectUri,
      scope: this.scope,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await challengeOf(pending.verifier),
      code_challenge_method: 'S256',
    });
    location.assign(`${endpoint}?${query}`);
  }

  /** Finishes what `signIn` or `signOut` began, if the authorization server has just returned to this page. */
  async finish() {
    const result = new URLSearchParams(location.search);
    if (!result.has('state')) return;
    const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? 'null');
    sessionStorage.removeItem(PENDING);
    history.replaceState(null, '', this.redirectUri);
    // Someone else may have made the address: it is not the response to this tab's request.
    if (pending === null || result.get('state') !== pending.state) return;
    if (result.has('error')) throw new Error(result.get('error_description') ?? result.get('error'));
    if (!result.has('code')) return;
    const { issuer } = await this.#discover();
    if (result.get('iss') !== issuer) throw new Error('the response is from another authorization server');
    await this.#request({
      grant_type: 'authorization_code',
      code: result.get('code'),
      redirect_uri: this.redirectUri,
      code_verifier: pending.verifier,
    });
    // The ID token came from the issuer itself, so that its signature need not be checked (OpenID Connect Core 3.1.3.7).
    const { iss, aud, nonce } = claimsOf(this.#tokens.idToken);
    if (iss === issuer && aud === this.clientId && nonce === pending.nonce) return;
    this.#store(null);
    throw new Error('the ID token is not for this sign-in');
  }

  /** `fetch` for paths of the service, with the access token. */
  async fetch(path, init = {}) {
    const send = () => {
      const headers = { ...init.headers, Authorization: `Bearer ${this.#tokens?.accessToken}` };
      return fetch(this.service + path, { ...init, headers });
    };
    if (this.#tokens !== null && this.#tokens.expiresAt - MARGIN_MS < Date.now()) await this.#renew();
    const response = await send();
    if (response.status !== 401 || this.#tokens === null) return response;
    // The token may have ended before its time.
    await this.#renew();
    return this.#tokens === null ? response : send();
  }

  /** Ends the session at the authorization server, which returns to `redirectUri`. */
  async signOut() {
    const { end_session_endpoint: endpoint } = await this.#discover();
    const { idToken } = this.#tokens;
    const pending = { state: random() };
    this.#store(null);
    sessionStorage.setItem(PENDING, JSON.stringify(pending));
    const query = new URLSearchParams({
      id_token_hint: idToken,
      post_logout_redirect_uri: this.redirectUri,
      state: pending.state,
    });
    location.assign(`${endpoint}?${query}`);
  }

  /** The addresses of the authorization server (RFC 8414, OpenID Connect Discovery). */
  async #discover() {
    if (this.#metadata) return this.#metadata;
    const response = await fetch(`${this.service}/.well-known/openid-configuration`);
    if (!response.ok) throw new Error(`no metadata: ${response.status}`);
    const metadata = await response.json();
    if (metadata.issuer !== this.service) throw new Error('the metadata are of another issuer');
    this.#metadata = metadata;
    return metadata;
  }

  /** One renewal at a time: a refresh token is for one use. */
  #renew() {
    this.#renewal ??= this.#request({
      grant_type: 'refresh_token',
      refresh_token: this.#tokens.refreshToken,
    }).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** Only `invalid_grant` ends the session; without a network it stays. */
  async #request(parameters) {
    const { token_endpoint: endpoint } = await this.#discover();
    const body = new URLSearchParams({ client_id: this.clientId, ...parameters });
    const response = await fetch(endpoint, { method: 'POST', body });
    const result = await response.json();
    if (response.ok)
      return this.#store({
        accessToken: result.access_token,
        expiresAt: Date.now() + result.expires_in * 1000,
        refreshToken: result.refresh_token ?? this.#tokens?.refreshToken,
        idToken: result.id_token ?? this.#tokens?.idToken,
      });
    if (result.error !== 'invalid_grant') throw new Error(`no token: ${response.status}`);
    this.#store(null);
    this.onEnd();
  }

  #store(tokens) {
    this.#tokens = tokens;
    if (tokens === null) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, JSON.stringify(tokens));
  }
}

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

const challengeOf = async (verifier) =>
  base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');

function claimsOf(token) {
  const text = atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/'));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (character) => character.charCodeAt(0))));
}
