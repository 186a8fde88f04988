import { SCHEMES, type SchemeName } from '../principal.js';
import type { EdgeConfig } from './edge.js';
import type { Reader } from './env-reader.js';
import { type JwtConfig, readJwtConfig } from './jwt.js';
import { isLoopback, parseNames, parseSecureUrl, SECURE_URL } from './parsers.js';

/** Who is let in, as what, and how often. */
export interface AuthConfig extends JwtConfig {
  /** The schemes that are taken; none: everybody may do everything. */
  readonly auth: readonly SchemeName[];
  readonly realm: string;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  readonly jwksUri: string | undefined;
  readonly jwtAlgorithms: readonly string[];
  readonly jwtSkewSeconds: number;
  /** Each `jti` is taken once. */
  readonly jwtOnce: boolean;
  readonly introspectionUri: string | undefined;
  readonly introspectionClientId: string;
  readonly introspectionClientSecret: string;
  readonly basicScopes: readonly string[];
  /** Basic without TLS from a client on this machine. */
  readonly basicInsecure: boolean;
  readonly signingSecrets: readonly SigningSecret[];
  /** Credentials a minute that may be no good; 0: any number. */
  readonly authFailures: number;
  readonly rateLimit: RateLimit | undefined;
  readonly rateLimitStore: 'memory' | 'postgres';
  readonly corsOrigins: readonly string[];
}

/** A secret that requests are signed with, and what it is good for. */
export interface SigningSecret {
  readonly id: string;
  readonly secret: string;
  readonly subject: string;
  readonly scopes: readonly string[];
}

/** So many requests in so many seconds. */
export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

/** Reads the settings of authentication. */
export function readAuth(reader: Reader): AuthConfig {
  const { read, integer } = reader;
  return {
    ...readJwtConfig(reader),
    auth: read<readonly SchemeName[]>('AUTH', [], `none, or any of ${SCHEMES.join(', ')}`, (text) => {
      const names = parseNames(text);
      if (text === 'none') return [];
      return names.every((name) => (SCHEMES as readonly string[]).includes(name))
        ? (names as SchemeName[])
        : undefined;
    }),
    realm: read('REALM', 'plinth', 'up to 100 printable characters without quotes', (text) =>
      /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(text) ? text : undefined,
    ),
    issuer: read<string | undefined>(
      'ISSUER',
      undefined,
      `${SECURE_URL}, or the email address of a service account`,
      (text) => (SERVICE_ACCOUNT.test(text) ? text : parseSecureUrl(text)),
    ),
    audience: read<string | undefined>(
      'AUDIENCE',
      undefined,
      'what tokens for this API name as `aud`',
      (text) => text,
    ),
    jwksUri: read<string | undefined>('JWKS_URI', undefined, SECURE_URL, parseSecureUrl),
    jwtAlgorithms: read(
      'JWT_ALGORITHMS',
      ['RS256', 'ES256', 'EdDSA'],
      `any of ${ALGORITHMS.join(', ')}`,
      (text) => {
        const names = parseNames(text);
        return names.every((name) => ALGORITHMS.includes(name)) ? names : undefined;
      },
    ),
    jwtSkewSeconds: integer('JWT_SKEW', 5, 0, 300),
    jwtOnce: read('JWT_REPLAY', false, '`accept` or `reject`', (text) =>
      text === 'reject' ? true : text === 'accept' ? false : undefined,
    ),
    introspectionUri: read<string | undefined>('INTROSPECTION_URI', undefined, SECURE_URL, parseSecureUrl),
    introspectionClientId: read('INTROSPECTION_CLIENT_ID', '', 'a client id', (text) => text),
    introspectionClientSecret: read('INTROSPECTION_CLIENT_SECRET', '', 'a client secret', (text) => text),
    basicScopes: read<readonly string[]>('BASIC_SCOPES', ['self'], 'scopes', parseNames),
    basicInsecure: read('BASIC_INSECURE', false, '`loopback`', (text) =>
      text === 'loopback' ? true : undefined,
    ),
    signingSecrets: read<readonly SigningSecret[]>(
      'SIGNING_SECRETS',
      [],
      'a JSON array of up to 16 of {"id", "secret", "subject", "scopes"}, each secret of 32 characters or more',
      parseSigningSecrets,
    ),
    authFailures: integer('AUTH_FAILURES', 10, 0, 1_000_000),
    rateLimit: read<RateLimit | undefined>(
      'RATE_LIMIT',
      undefined,
      'requests/seconds: 100/60',
      parseRateLimit,
    ),
    rateLimitStore: read('RATE_LIMIT_STORE', 'memory', '`memory` or `postgres`', (text) =>
      text === 'memory' || text === 'postgres' ? text : undefined,
    ),
    corsOrigins: read<readonly string[]>('CORS_ORIGINS', [], 'origins: https://app.example.org', (text) => {
      const origins = parseNames(text);
      const isExact = (origin: string) =>
        URL.canParse(origin) && new URL(origin).origin === origin && !origin.includes('*');
      return origins.every(isExact) ? origins : undefined;
    }),
  };
}

/** What the settings of authentication lack, or what contradicts each other. */
export function authFaults(config: AuthConfig & EdgeConfig, host: string, given: string): string[] {
  const { auth } = config;
  const faults: string[] = [];
  const need = (fits: boolean, fault: string) => fits || faults.push(fault);
  need(
    given !== '' || isLoopback(host),
    `HOST is ${host}, which others can reach: set AUTH to the schemes to take (${SCHEMES.join(', ')}), or AUTH=none to serve everybody without authentication`,
  );
  const tls = config.tlsCert !== undefined;
  need(tls === (config.tlsKey !== undefined), 'TLS_CERT and TLS_KEY go together');
  need(tls || config.tlsClientCa === undefined, 'TLS_CLIENT_CA needs TLS_CERT and TLS_KEY');
  if (auth.includes('bearer')) {
    need(
      config.issuer !== undefined || config.introspectionUri !== undefined || auth.includes('api-key'),
      'AUTH=bearer needs ISSUER, the URL of the authorization server',
    );
    need(
      config.issuer === undefined || config.audience !== undefined,
      'ISSUER needs AUDIENCE, the `aud` of tokens for this API',
    );
    need(
      config.issuer === undefined || config.jwksUri !== undefined || !SERVICE_ACCOUNT.test(config.issuer),
      'ISSUER is an email address, which has no metadata: set JWKS_URI',
    );
  }
  if (auth.includes('basic'))
    need(
      tls || config.trustProxy !== undefined || config.basicInsecure,
      'AUTH=basic needs TLS: set TLS_CERT and TLS_KEY, or TRUST_PROXY, or for tests BASIC_INSECURE=loopback',
    );
  if (auth.includes('signature'))
    need(config.signingSecrets.length > 0, 'AUTH=signature needs SIGNING_SECRETS');
  if (auth.includes('mtls')) need(config.tlsClientCa !== undefined, 'AUTH=mtls needs TLS_CLIENT_CA');
  return faults;
}

/** An issuer that is no URL: a service account that signs its tokens itself. */
const SERVICE_ACCOUNT = /^[^\s:/@]{1,100}@[^\s:/@]{1,250}$/;

/** JWS algorithms with a public key (RFC 7518, RFC 8037): nobody who can verify can sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

function parseSigningSecrets(text: string): readonly SigningSecret[] | undefined {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(list) || list.length > 16) return undefined;
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  const fits = list.every(
    (entry) =>
      isText(entry?.id) &&
      isText(entry.secret) &&
      entry.secret.length >= 32 &&
      isText(entry.subject) &&
      Array.isArray(entry.scopes) &&
      entry.scopes.every(isText),
  );
  const ids = new Set(list.map((entry) => entry?.id));
  return fits && ids.size === list.length ? (list as SigningSecret[]) : undefined;
}

function parseRateLimit(text: string): RateLimit | undefined {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/.exec(text) ?? [];
  return requests === undefined ? undefined : { requests: Number(requests), seconds: Number(seconds) };
}
