import { setTimeout as sleep } from 'node:timers/promises';
import * as client from 'openid-client';
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
    return this.cause instanceof client.AuthorizationResponseError && this.cause.error === 'access_denied';
  }
}

/** A client of one issuer, by the authorization code flow of OpenID Connect with PKCE. */
export class UpstreamClient {
  #config: client.Configuration | undefined;
  #discoveredAt = 0;
  readonly #discover = singleFlight(async () => {
    const { issuer, clientId, clientSecret } = this.upstream;
    const isLocal = isLoopback(new URL(issuer).hostname.replace(/^\[|\]$/g, ''));
    const { enableNonRepudiationChecks: verified, allowInsecureRequests } = client;
    const metadata = { [client.clockTolerance]: SKEW_S };
    this.#config = await client.discovery(new URL(issuer), clientId, metadata, secretOf(clientSecret), {
      execute: isLocal ? [verified, allowInsecureRequests] : [verified],
      timeout: this.timeoutMs / 1000,
      [client.customFetch]: boundedFetch,
    });
    this.#discoveredAt = performance.now();
    return this.#config;
  });

  /** `redirect`: the address to which the issuer returns. `timeoutMs`: for all requests of one step. */
  constructor(
    readonly upstream: Upstream,
    readonly redirect: string,
    readonly timeoutMs: number,
  ) {}

  /** The address at which the person signs in. Throws UpstreamError. */
  address({ state, nonce, verifier }: Proofs, more: Readonly<Record<string, string>>): Promise<string> {
    return this.#try(async () => {
      const config = await this.#open();
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: this.redirect,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...more,
      });
      if (parseSecureUrl(url.href) === undefined) throw new TypeError('no secure authorization_endpoint');
      return url.href;
    });
  }

  /** The person that a response of the issuer names. Throws UpstreamError. */
  personOf(response: URLSearchParams, { state, nonce, verifier }: Proofs): Promise<Person> {
    return this.#try(async () => {
      const config = await this.#open();
      const tokens = await client.authorizationCodeGrant(config, new URL(`${this.redirect}?${response}`), {
        ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
      });
      const { iss: issuer, sub: subject, ...claims } = tokens.claims()!;
      const person = { issuer, subject, claims: { ...claims, sub: subject } as Claims };
      if (claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined)
        return person;
      const shown = await client.fetchUserInfo(config, tokens.access_token, subject);
      // An address and whether it is verified come from one source.
      const { email_verified: _, ...others } = person.claims;
      return { ...person, claims: { ...others, ...shown } };
    });
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    const late = sleep(this.timeoutMs, undefined, { ref: false }).then(() => {
      throw new TypeError('no response in time');
    });
    try {
      return await Promise.race([work(), late]);
    } catch (error) {
      throw new UpstreamError(this.upstream, error);
    }
  }

  async #open(): Promise<client.Configuration> {
    const isOld = performance.now() - this.#discoveredAt > MAX_AGE_MS;
    return this.#config === undefined || isOld ? this.#discover() : this.#config;
  }
}

/** The first of the two methods that the issuer names; by default it is Basic (OpenID Connect Discovery section 3). */
const secretOf =
  (secret: string): client.ClientAuth =>
  (server, ...request) => {
    const isPosted = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') === false;
    return (isPosted ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret))(
      server,
      ...request,
    );
  };

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
