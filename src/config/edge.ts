import type { Network } from '../ip-address.js';
import type { Reader } from './env-reader.js';
import { isHost, isLoopback, parseNames, parseNetworks } from './parsers.js';

export type EdgeConfig = Readonly<ReturnType<typeof readEdge>>;

/** Reads how clients reach the service: its address, proxies, host names and TLS. */
export function readEdge({ read, optional, path, oneOf, integer }: Reader) {
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

/** Whether browsers reach the service by https. */
export const usesHttps = ({ publicUrl, tlsCert }: Pick<EdgeConfig, 'publicUrl' | 'tlsCert'>): boolean =>
  publicUrl === undefined ? tlsCert !== undefined : publicUrl.startsWith('https:');

/** The hosts by which clients may reach the service while AUTH is off, besides those of this machine. */
export function hostsOf({ host, publicUrl, allowedHosts }: EdgeConfig): readonly string[] {
  const published = publicUrl === undefined ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')];
  return [host, ...published, ...allowedHosts];
}

/**
 * The hosts that the listener of the metrics accepts; undefined: any Host is accepted. A listener that only this machine
 * reaches is protected against DNS rebinding; the operator opened any other.
 */
export function hostsOfMetrics(
  config: EdgeConfig & { readonly metricsHost: string },
): readonly string[] | undefined {
  return isLoopback(config.metricsHost) ? hostsOf(config) : undefined;
}
