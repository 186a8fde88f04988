import { BlockList, isIP } from 'node:net';
import { SCHEMES, type SchemeName } from './principal.js';

/** Every setting, parsed. Durations in milliseconds, sizes in bytes. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly logLevel: string;
  readonly bodyLimit: number;
  readonly dbConnections: number;
  readonly dbSearches: number;
  readonly dbStreams: number;
  readonly dbQueue: number;
  readonly dbTimeoutMs: number;
  readonly streamStallMs: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly maxConnections: number;
  readonly shutdownMs: number;
  readonly requireIfMatch: boolean;
  readonly tombstones: boolean;
  readonly tombstoneTtlSeconds: number;
  readonly idempotencyTtlSeconds: number;
  readonly deprecation: Date | undefined;
  readonly sunset: Date | undefined;
  readonly successor: string | undefined;
  /** The schemes that are taken; none: everybody may do everything. */
  readonly auth: readonly SchemeName[];
  readonly realm: string;
  /** How the service is reached from outside, without a slash at the end; undefined: as a request's Host says. */
  readonly publicUrl: string | undefined;
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
  /** Files in PEM. */
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsClientCa: string | undefined;
  /** Proxies that are believed what they say of the client. */
  readonly trustProxy: BlockList | undefined;
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

/** What is wrong with the environment: one line a fault, each naming its variable. */
export class ConfigError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
  }
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the whole configuration, or throws one ConfigError that lists every fault. */
export function readConfig(env: Env = process.env): Config {
  const faults: string[] = [];
  const read = <T>(name: string, fallback: T, takes: string, parse: (text: string) => T | undefined): T => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return fallback;
    const value = parse(text);
    if (value === undefined) faults.push(`${name} takes ${takes}`);
    return value ?? fallback;
  };
  const integer = (name: string, fallback: number, min: number, max: number) =>
    read(name, fallback, `an integer from ${min} to ${max}`, (text) => {
      const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : undefined;
    });
  const flag = (name: string) =>
    read(name, false, '`on` or `off`', (text) => (text === 'on' ? true : text === 'off' ? false : undefined));
  const date = (name: string) =>
    read<Date | undefined>(name, undefined, 'a date as in RFC 3339: 2026-12-31T00:00:00Z', parseDate);

  const config: Config = {
    host: read('HOST', '127.0.0.1', 'an IP address or a host name', (text) =>
      isIP(text) || (HOST.test(text) && !/(^|\.)\d+$/.test(text)) ? text : undefined,
    ),
    port: integer('PORT', 3000, 0, 65535),
    databaseUrl: read<string | undefined>(
      'DATABASE_URL',
      undefined,
      'a URL: postgres://user:password@host/database',
      parseDatabaseUrl,
    ),
    dataDir: read('DATA_DIR', './data', 'a path', (text) => text),
    logLevel: read('LOG_LEVEL', 'warn', `one of ${LEVELS.join(', ')}`, (text) =>
      LEVELS.includes(text) ? text : undefined,
    ),
    bodyLimit: integer('BODY_LIMIT', 1_048_576, 1024, 104_857_600),
    dbConnections: integer('DB_CONNECTIONS', 3, 1, 100),
    dbSearches: integer('DB_SEARCHES', 2, 1, 100),
    dbStreams: integer('DB_STREAMS', 4, 1, 100),
    dbQueue: integer('DB_QUEUE', 2000, 1, 100_000),
    dbTimeoutMs: integer('DB_TIMEOUT_MS', 10_000, 10, 600_000),
    streamStallMs: integer('STREAM_STALL_MS', 30_000, 50, 3_600_000),
    headersTimeoutMs: integer('HEADERS_TIMEOUT_MS', 10_000, 100, 600_000),
    requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    keepAliveMs: integer('KEEP_ALIVE_MS', 65_000, 0, 3_600_000),
    maxConnections: integer('MAX_CONNECTIONS', 16_384, 1, 1_000_000),
    shutdownMs: integer('SHUTDOWN_MS', 10_000, 0, 600_000),
    requireIfMatch: flag('REQUIRE_IF_MATCH'),
    tombstones: flag('TOMBSTONES'),
    tombstoneTtlSeconds: integer('TOMBSTONE_TTL', 2_592_000, 1, 3_153_600_000),
    idempotencyTtlSeconds: integer('IDEMPOTENCY_TTL', 86_400, 1, 31_536_000),
    deprecation: date('V1_DEPRECATION'),
    sunset: date('V1_SUNSET'),
    successor: read<string | undefined>('V1_SUCCESSOR', undefined, 'a URL or a path', (text) =>
      /^(https?:\/\/|\/)[\x21-\x7e]*$/.test(text) && !/[<>"]/.test(text) && URL.canParse(text, 'http://host')
        ? text
        : undefined,
    ),
    auth: read<readonly SchemeName[]>('AUTH', [], `none, or any of ${SCHEMES.join(', ')}`, (text) => {
      const names = namesIn(text);
      if (text === 'none') return [];
      return names.every((name) => (SCHEMES as readonly string[]).includes(name))
        ? (names as SchemeName[])
        : undefined;
    }),
    realm: read('REALM', 'plinth', 'up to 100 printable characters without quotes', (text) =>
      /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(text) ? text : undefined,
    ),
    publicUrl: read<string | undefined>(
      'PUBLIC_URL',
      undefined,
      'a URL without path: https://api.example.org',
      (text) =>
        /^https?:\/\/[^/?#\s"\\]+\/?$/.test(text) && URL.canParse(text) ? text.replace(/\/$/, '') : undefined,
    ),
    issuer: read<string | undefined>('ISSUER', undefined, SECURE_URL, parseSecureUrl),
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
        const names = namesIn(text);
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
    basicScopes: read<readonly string[]>('BASIC_SCOPES', ['self'], 'scopes', namesIn),
    basicInsecure: read('BASIC_INSECURE', false, '`loopback`', (text) =>
      text === 'loopback' ? true : undefined,
    ),
    signingSecrets: read<readonly SigningSecret[]>(
      'SIGNING_SECRETS',
      [],
      'a JSON array of up to 16 of {"id", "secret", "subject", "scopes"}, each secret of 32 characters or more',
      parseSigningSecrets,
    ),
    tlsCert: read<string | undefined>('TLS_CERT', undefined, 'a file', (text) => text),
    tlsKey: read<string | undefined>('TLS_KEY', undefined, 'a file', (text) => text),
    tlsClientCa: read<string | undefined>('TLS_CLIENT_CA', undefined, 'a file', (text) => text),
    trustProxy: read<BlockList | undefined>(
      'TRUST_PROXY',
      undefined,
      'IP addresses or networks: 10.0.0.0/8',
      parseNetworks,
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
      const origins = namesIn(text);
      return origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin)
        ? origins
        : undefined;
    }),
  };
  faults.push(...authFaults(config, env.AUTH?.trim() ?? ''));
  if (config.deprecation && config.sunset && config.sunset < config.deprecation) {
    faults.push('V1_SUNSET takes a date that is not before V1_DEPRECATION'); // RFC 9745, section 4
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

/** What the settings of authentication lack, or what contradicts each other. */
function authFaults(config: Config, given: string): string[] {
  const { auth, host } = config;
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

/** JWS algorithms with a public key (RFC 7518, RFC 8037): nobody who can verify can sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const SECURE_URL = 'an https URL, or an http URL of a loopback address';

function parseSecureUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')))
    ? text
    : undefined;
}

function namesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}

function parseNetworks(text: string): BlockList | undefined {
  const list = new BlockList();
  for (const network of namesIn(text)) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address);
    const most = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || !(prefix <= most)) return undefined;
    list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

function parseRateLimit(text: string): RateLimit | undefined {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/.exec(text) ?? [];
  return requests === undefined ? undefined : { requests: Number(requests), seconds: Number(seconds) };
}

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

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i;

/** A date and time as in RFC 3339; undefined for any other text, and for a day that there is not. */
export function parseDate(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const value = new Date(text);
  // Date takes 30 February for 2 March.
  const local = text.slice(0, 19);
  const read = new Date(`${local}Z`);
  if (Number.isNaN(value.getTime()) || Number.isNaN(read.getTime())) return undefined;
  return read.toISOString().startsWith(local) ? value : undefined;
}

function parseDatabaseUrl(text: string): string | undefined {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return undefined;
  try {
    // A `%` of a password that is not written as %25 would else end the driver.
    decodeURIComponent(text);
    return text;
  } catch {
    return undefined;
  }
}

function isLoopback(host: string): boolean {
  return (
    host.toLowerCase() === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
  );
}
