import * as oauth from 'oauth4webapi';
import type { Claims } from '../../auth/tokens/access-token.js';
import { isLoopback, parseSecureUrl } from '../../config/parsers.js';
import { singleFlight } from '../../work/shared-runs.js';
import type { Upstream } from './settings.js';

/** Of a response. */
const MAX_BYTES = 1_048_576;
/** After this time the metadata of the issuer are requested again. */
const MAX_AGE_MS = 600_000;
const SKEW_S = 30;

/** The values that bind the response of the issuer to one browser and one request. */
export interface Proofs {
  readonly state: string;
  readonly nonce: string;
  /** The secret of PKCE. */
  readonly verifier: string;
}

/** A person who has signed in at the issuer. */
export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Claims;
}

/** The issuer does not sign the person in: it cannot be reached, its response is not valid, or the person has cancelled. */
export class UpstreamError extends Error {
  constructor(
    readonly upstream: Upstream,
    override readonly cause: unknown,
  ) {
    super((cause as Error).message);
  }

  get isCancelled(): boolean {
    return this.cause instanceof oauth.AuthorizationResponseError && this.cause.error === 'access_denied';
  }
}

/** A client of one issuer, by the authorization code flow of OpenID Connect with PKCE. */
export class UpstreamClient {
  readonly #client: oauth.Client;
  readonly #keys: oauth.JWKSCacheInput = {};
  #server: oauth.AuthorizationServer | undefined;
  #discoveredAt = 0;
  readonly #discover = singleFlight(async () => {
    const issuer = new URL(this.upstream.issuer);
    const response = await oauth.discoveryRequest(issuer, { ...this.#options(), algorithm: 'oidc' });
    this.#server = await oauth.processDiscoveryResponse(issuer, response);
    this.#discoveredAt = performance.now();
    return this.#server;
  });

  /** `redirect`: the address to which the issuer returns. */
  constructor(
    readonly upstream: Upstream,
    readonly redirect: string,
    readonly timeoutMs: number,
  ) {
    this.#client = { client_id: upstream.clientId, [oauth.clockTolerance]: SKEW_S };
  }

  /** The address at which the person signs in. Throws UpstreamError. */
  address({ state, nonce, verifier }: Proofs, more: Readonly<Record<string, string>>): Promise<string> {
    return this.#try(async () => {
      const { authorization_endpoint: endpoint = '' } = await this.#metadata();
      if (parseSecureUrl(endpoint) === undefined) throw new TypeError('no secure authorization_endpoint');
      const url = new URL(endpoint);
      const parameters = {
        client_id: this.upstream.clientId,
        redirect_uri: this.redirect,
        response_type: 'code',
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...more,
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    });
  }

  /** The person that a response of the issuer names. Throws UpstreamError. */
  personOf(response: URLSearchParams, { state, nonce, verifier }: Proofs): Promise<Person> {
    return this.#try(async () => {
      const [server, client, options] = [await this.#metadata(), this.#client, this.#options()];
      const code = oauth.validateAuthResponse(server, client, response, state);
      const secret = this.#authentication(server);
      const parts = [server, client, secret, code, this.redirect, verifier, options] as const;
      const received = await oauth.authorizationCodeGrantRequest(...parts);
      const checks = { expectedNonce: nonce, requireIdToken: true };
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, received, checks);
      await oauth.validateApplicationLevelSignature(server, received, options);
      const { iss: issuer, sub: subject, ...claims } = oauth.getValidatedIdTokenClaims(tokens)!;
      const person = { issuer, subject, claims: { ...claims, sub: subject } as Claims };
      if (claims.email !== undefined || server.userinfo_endpoint === undefined) return person;
      const info = await oauth.userInfoRequest(server, client, tokens.access_token, options);
      const shown = await oauth.processUserInfoResponse(server, client, subject, info);
      // An address and whether it is verified come from one source.
      const { email_verified: _, ...others } = person.claims;
      return { ...person, claims: { ...others, ...shown } };
    });
  }

  #try<T>(work: () => Promise<T>): Promise<T> {
    return work().catch((error: unknown) => {
      throw new UpstreamError(this.upstream, error);
    });
  }

  async #metadata(): Promise<oauth.AuthorizationServer> {
    const isOld = performance.now() - this.#discoveredAt > MAX_AGE_MS;
    return this.#server === undefined || isOld ? this.#discover() : this.#server;
  }

  /** The first of the two methods that the issuer names; by default it is Basic (OpenID Connect Discovery section 3). */
  #authentication({ token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer) {
    const { clientSecret } = this.upstream;
    const isPosted = methods?.includes('client_secret_basic') === false;
    return isPosted ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret);
  }

  #options() {
    return {
      signal: AbortSignal.timeout(this.timeoutMs),
      [oauth.allowInsecureRequests]: isLoopback(
        new URL(this.upstream.issuer).hostname.replace(/^\[|\]$/g, ''),
      ),
      [oauth.customFetch]: boundedFetch,
      [oauth.jwksCache]: this.#keys,
    };
  }
}

/** Responses of any status, with a body of limited size, which is read until the signal of the request aborts. */
async function boundedFetch(url: string, init: object): Promise<Response> {
  const response = await fetch(url, init);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > MAX_BYTES) throw new TypeError(`a response of more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  const hasBody = status >= 200 && ![204, 205, 304].includes(status);
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers });
}
