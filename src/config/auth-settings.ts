import { SCHEMES, type SchemeName } from '../auth/principal.js';
import { isBreachedFile } from '../passwords/breached-passwords.js';
import type { Reader } from './env-reader.js';
import { isLoopback, parseJson, parseNames, parseSecureUrl, pathIn, SECURE_URL } from './parsers.js';
import type { ServerConfig } from './server-settings.js';

export type AuthConfig = Readonly<ReturnType<typeof readAuth>>;

/** A secret that signs requests, and the principal that it authenticates. */
export interface SigningSecret {
  readonly id: string;
  readonly secret: string;
  readonly subject: string;
  readonly scopes: readonly string[];
}

/** An endpoint for introspection, and the credentials of the service there; an empty id: none. */
export interface IntrospectionSettings {
  readonly uri: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** An issuer beside the embedded authorization server. */
export interface OtherIssuer {
  readonly issuer: string;
  readonly audience: string | undefined;
  readonly jwksUri: string | undefined;
}

const INSECURE = ['basic', 'webhooks'] as const;
type Insecure = (typeof INSECURE)[number];

/** An issuer that is not a URL: a service account that signs its own tokens. */
const SERVICE_ACCOUNT = /^[^\s:/@]{1,100}@[^\s:/@]{1,250}$/;

/** JWS algorithms with a public key (RFC 7518, RFC 8037): a party that can verify cannot sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const MAX_CLAIMS = 8;
const MAX_CHARACTERS = 256;
const MAX_ENTRIES = 200;
const MAX_SCOPES_PER_ENTRY = 50;

/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;

/** Reads the settings of authentication. */
export function readAuth(reader: Reader) {
  const { read, optional, text, oneOf } = reader;
  return {
    /** The accepted schemes; none: every client may do everything. */
    auth: read<readonly SchemeName[]>('AUTH', [], `none, or any of ${SCHEMES.join(', ')}`, (text) =>
      text === 'none' ? [] : someOf(SCHEMES, text),
    ),
    /** In the challenges of a 401. */
    realm: 'plinth',
    issuer: optional('ISSUER', `${SECURE_URL}, or the email address of a service account`, (text) =>
      SERVICE_ACCOUNT.test(text) ? text : parseSecureUrl(text),
    ),
    /** The `aud` of tokens for this API. */
    audience: text('AUDIENCE'),
    jwksUri: optional('JWKS_URI', SECURE_URL, parseSecureUrl),
    /** The issuer of ISSUER where the service itself is `issuer`. */
    otherIssuer: undefined as OtherIssuer | undefined,
    jwtAlgorithms: read<readonly string[]>(
      'JWT_ALGORITHMS',
      ['RS256', 'ES256', 'EdDSA'],
      `any of ${ALGORITHMS.join(', ')}`,
      (text) => someOf(ALGORITHMS, text),
    ),
    /** The tolerated difference between the clocks of the issuer and the service. */
    jwtSkewSeconds: 5,
    /** `JWT`: the issuer writes `typ: JWT` on access tokens, or no `typ`. */
    jwtType: oneOf('JWT_TYP', ['at+jwt', 'JWT']),
    /** Claims with the scopes, by name or path; the first that a token has applies. */
    jwtScopesClaims: read<readonly string[]>(
      'JWT_SCOPES_CLAIM',
      ['scope', 'scp'],
      `up to ${MAX_CLAIMS} names or paths of claims, each of up to ${MAX_CHARACTERS} characters`,
      (text) => {
        const names = parseNames(text);
        const isValid = names.length >= 1 && names.length <= MAX_CLAIMS;
        return isValid && names.every((name) => name.length <= MAX_CHARACTERS) ? names : undefined;
      },
    ),
    /** The scopes that each value of that claim grants; undefined: the values are the scopes. */
    jwtScopesMap: optional<ReadonlyMap<string, readonly string[]>>(
      'JWT_SCOPES_MAP',
      `a JSON object of 1 to ${MAX_ENTRIES} names, each with an array of scopes: {"Reader": ["items:read"]}`,
      parseScopesMap,
    ),
    /** Each `jti` is accepted once. */
    jwtOnce: oneOf('JWT_REPLAY', ['accept', 'reject']) === 'reject',
    introspection: optional(
      'INTROSPECTION',
      `${SECURE_URL}, with the percent-encoded id and secret of a client: https://client:secret@issuer.example/introspect`,
      parseIntrospection,
    ),
    ...readUserRules(reader),
    /** Parts of the service that need no TLS: Basic from a client on this machine, and the targets of webhooks. */
    insecure: read<readonly Insecure[]>('INSECURE', [], `any of ${INSECURE.join(', ')}`, (text) =>
      someOf(INSECURE, text),
    ),
    signingSecrets: read<readonly SigningSecret[]>(
      'SIGNING_SECRETS',
      [],
      'a JSON array of up to 16 of {"id", "secret", "subject", "scopes"}, each secret of 32 characters or more',
      parseSigningSecrets,
    ),
  };
}

function readUserRules({ read, optional, folder }: Reader) {
  const scopes = (name: string, fallback: readonly string[]) => read(name, fallback, 'scopes', parseNames);
  return {
    basicScopes: scopes('BASIC_SCOPES', ['self']),
    /** Scopes that users have only after a second factor. */
    secondFactorScopes: scopes('REQUIRE_SECOND_FACTOR', []),
    /** Words of the service and its organization, which are no passwords. */
    passwordWords: read<readonly string[]>('PASSWORD_WORDS', [], 'words: acme,roofing', parseNames),
    /** A file with the hashes of breached passwords. */
    breachedPasswords: optional(
      'BREACHED_PASSWORDS',
      'a file with the SHA-1 of one password a line, in hexadecimal and sorted',
      (text) => {
        const path = pathIn(folder, text);
        return isBreachedFile(path) ? path : undefined;
      },
    ),
  };
}

/**
 * Settings of authentication that are missing or contradict each other. `isAuthSet`: AUTH is in the environment. `hasIssuer`:
 * there is an authorization server, which may be a feature of the service.
 */
export function authFaults(
  config: AuthConfig & ServerConfig,
  isAuthSet: boolean,
  hasIssuer: boolean,
): string[] {
  const { auth, host, issuer, audience, jwksUri } = config;
  const hasTls = config.tlsCert !== undefined;
  const rules: [fault: string, isValid: boolean][] = [
    [
      `HOST is ${host}, which others can reach: set AUTH to the accepted schemes (${SCHEMES.join(', ')}), or AUTH=none to serve every client without authentication`,
      isAuthSet || isLoopback(host),
    ],
    ['TLS_CERT and TLS_KEY go together', hasTls === (config.tlsKey !== undefined)],
    ['TLS_CLIENT_CA needs TLS_CERT and TLS_KEY', hasTls || config.tlsClientCa === undefined],
    [
      'AUTH=bearer needs ISSUER, the URL of the authorization server, or AUTH_SERVER=on',
      !auth.includes('bearer') || hasIssuer || config.introspection !== undefined || auth.includes('api-key'),
    ],
    [
      'ISSUER needs AUDIENCE, the `aud` of tokens for this API',
      !auth.includes('bearer') || issuer === undefined || audience !== undefined,
    ],
    [
      'ISSUER is an email address, which has no metadata: set JWKS_URI',
      !auth.includes('bearer') || jwksUri !== undefined || !SERVICE_ACCOUNT.test(issuer ?? ''),
    ],
    [
      'AUTH=basic needs TLS: set TLS_CERT and TLS_KEY, or TRUST_PROXY, or for tests INSECURE=basic',
      !auth.includes('basic') ||
        hasTls ||
        config.trustProxy !== undefined ||
        config.insecure.includes('basic'),
    ],
    ['AUTH=signature needs SIGNING_SECRETS', !auth.includes('signature') || config.signingSecrets.length > 0],
    ['AUTH=mtls needs TLS_CLIENT_CA', !auth.includes('mtls') || config.tlsClientCa !== undefined],
  ];
  return rules.filter(([, isValid]) => !isValid).map(([fault]) => fault);
}

function someOf<T extends string>(known: readonly T[], text: string): T[] | undefined {
  const names = parseNames(text);
  return names.every((name) => (known as readonly string[]).includes(name)) ? (names as T[]) : undefined;
}

function parseIntrospection(text: string): IntrospectionSettings | undefined {
  if (parseSecureUrl(text) === undefined) return undefined;
  const url = new URL(text);
  try {
    const [clientId, clientSecret] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    Object.assign(url, { username: '', password: '' });
    return { uri: url.href, clientId, clientSecret };
  } catch {
    return undefined;
  }
}

function parseSigningSecrets(text: string): readonly SigningSecret[] | undefined {
  const list = parseJson(text);
  if (!Array.isArray(list) || list.length > 16 || !list.every(isSigningSecret)) return undefined;
  return new Set(list.map(({ id }) => id)).size === list.length ? list : undefined;
}

function isSigningSecret(entry: Partial<SigningSecret> | null): entry is SigningSecret {
  const isText = (value: unknown) => typeof value === 'string' && value !== '';
  if (![entry?.id, entry?.secret, entry?.subject].every(isText)) return false;
  return entry!.secret!.length >= 32 && Array.isArray(entry!.scopes) && entry!.scopes.every(isText);
}

function parseScopesMap(text: string): ReadonlyMap<string, readonly string[]> | undefined {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  const isValid =
    entries.length >= 1 &&
    entries.length <= MAX_ENTRIES &&
    entries.every(([name, scopes]) => name !== '' && name.length <= MAX_CHARACTERS && areScopes(scopes));
  return isValid ? new Map(entries as [string, string[]][]) : undefined;
}

function areScopes(value: unknown): boolean {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_SCOPES_PER_ENTRY) return false;
  return value.every((scope) => typeof scope === 'string' && SCOPE.test(scope));
}
