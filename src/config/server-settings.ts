import type { Network } from '../formats/ip-address.js';
import { prefixOf, type Retirement, VERSIONS } from '../versions/supported.js';
import type { Reader } from './env-reader.js';
import { isHost, isLoopback, parseNames, parseNetworks } from './parsers.js';

export type ServerConfig = Readonly<ReturnType<typeof readServer>>;

/** Reads how clients reach the service: its address, proxies, host names and TLS. */
export function readServer({ read, optional, path, oneOf, integer }: Reader) {
  return {
    host: read('HOST', '127.0.0.1', 'an IP address or a host name', (text) =>
      isHost(text) ? text : undefined,
    ),
    port: integer('PORT', 3000, 0, 65535),
    /** The service's URL for clients, without a slash at the end; undefined: as the Host of a request says. */
    publicUrl: optional('PUBLIC_URL', 'a URL without path: https://api.example.org', (text) =>
      /^https?:\/\/[^/?#\s"\\]+\/?$/.test(text) && URL.canParse(text) ? text.replace(/\/$/, '') : undefined,
    ),
    /** Files in PEM. */
    tlsCert: path('TLS_CERT'),
    tlsKey: path('TLS_KEY'),
    tlsClientCa: path('TLS_CLIENT_CA'),
    /** Seconds of Strict-Transport-Security over the service's own TLS; 0: the field is not sent. */
    hstsMaxAgeSeconds: integer('HSTS_MAX_AGE', 31_536_000, 0, 3_153_600_000),
    /** Proxies whose report of the client's address and of TLS is accepted. */
    trustProxy: optional<readonly Network[]>(
      'TRUST_PROXY',
      'IP addresses or networks: 10.0.0.0/8',
      parseNetworks,
    ),
    /** The one family of header fields in which these proxies report. */
    proxyHeaders: oneOf('PROXY_HEADERS', ['x-forwarded', 'forwarded']),
    /** Names and addresses that Host may have while AUTH is off, besides those of this machine. */
    allowedHosts: read<readonly string[]>(
      'ALLOWED_HOSTS',
      [],
      'host names and IP addresses without ports: api.example.org, 10.0.0.5',
      (text) => {
        const names = parseNames(text);
        // Container networks have names with underscores.
        return names.every((name) => isHost(name.replaceAll('_', 'a'))) ? names : undefined;
      },
    ),
    /** Origins whose pages may send requests. */
    corsOrigins: read<readonly string[]>('CORS_ORIGINS', [], 'origins: https://app.example.org', (text) => {
      const origins = parseNames(text);
      const isExact = (origin: string) =>
        URL.canParse(origin) && new URL(origin).origin === origin && !origin.includes('*');
      return origins.every(isExact) ? origins : undefined;
    }),
  };
}

/** The hosts by which clients may reach the service while AUTH is off, besides those of this machine. */
export function hostsOf({ host, publicUrl, allowedHosts }: ServerConfig): readonly string[] {
  const published = publicUrl === undefined ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')];
  return [host, ...published, ...allowedHosts];
}

/**
 * The hosts that the listener of the metrics accepts; undefined: any Host is accepted. A listener that only this machine
 * reaches is protected against DNS rebinding; the operator opened any other.
 */
export function hostsOfMetrics(
  config: ServerConfig & { readonly metricsHost: string },
): readonly string[] | undefined {
  return isLoopback(config.metricsHost) ? hostsOf(config) : undefined;
}

/** Reads what the service does for each request, and how long it waits for clients. */
export function readHttp(reader: Reader) {
  const { read, integer, flag } = reader;
  const publicPrefix = read('PUBLIC_PREFIX', '', 'a path without a slash at the end: /api/v1', (text) =>
    /^(\/[\w.~-]+){1,10}$/.test(text) ? text : undefined,
  );
  return {
    headersTimeoutMs: 10_000,
    requestTimeoutMs: integer('REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
    /** How long a client may read nothing of a response. */
    streamStallMs: 30_000,
    keepAliveMs: integer('KEEP_ALIVE_MS', 65_000, 0, 3_600_000),
    /** Responses are compressed for clients that accept it. */
    compression: flag('COMPRESSION', true),
    /** Shorter bodies fit into one packet in any case. */
    compressionMinBytes: 1400,
    requireIfMatch: flag('REQUIRE_IF_MATCH'),
    /** Lists are arrays and have any parameter, whatever the declarations say. A feature may set this. */
    anyParameters: false as boolean,
    /** Precedes the paths of links and of Location, behind a proxy that exposes only `/api/v1` or adds a path. */
    publicPrefix,
    retirement: readRetirement(reader, publicPrefix),
  };
}

/** Reads when each version that has a successor retires (RFC 9745, RFC 8594), by its number. */
function readRetirement({ date, faults }: Reader, publicPrefix: string) {
  const settings = VERSIONS.slice(0, -1).map(({ number }, index): [string, Retirement] => {
    const deprecation = date(`V${number}_DEPRECATION`);
    const sunset = date(`V${number}_SUNSET`);
    // RFC 9745 section 4.
    if (deprecation && sunset && sunset < deprecation)
      faults.push(`V${number}_SUNSET must be a date that is not before V${number}_DEPRECATION`);
    return [number, { deprecation, sunset, successor: prefixOf(VERSIONS[index + 1]!, publicPrefix) }];
  });
  return Object.fromEntries(settings);
}
