import type { Network } from '../ip-address.js';
import type { Reader } from './env-reader.js';
import { isHost, isLoopback, parseNames, parseNetworks } from './parsers.js';

/** What stands between the service and its clients: proxies, names and TLS. */
export interface EdgeConfig {
  /** How the service is reached from outside, without a slash at the end; undefined: as a request's Host says. */
  readonly publicUrl: string | undefined;
  /** Files in PEM. */
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsClientCa: string | undefined;
  /** Seconds of Strict-Transport-Security over the service's own TLS; 0: the field is not sent. */
  readonly hstsMaxAgeSeconds: number;
  /** Proxies whose report of the client's address and of TLS is accepted. */
  readonly trustProxy: readonly Network[] | undefined;
  /** The one family of header fields in which these proxies report. */
  readonly proxyHeaders: 'forwarded' | 'x-forwarded';
  /** Names and addresses, besides those of this machine, that Host may have while AUTH is off. */
  readonly allowedHosts: readonly string[];
}

export function readEdge({ read, integer }: Reader): EdgeConfig {
  return {
    publicUrl: read<string | undefined>(
      'PUBLIC_URL',
      undefined,
      'a URL without path: https://api.example.org',
      (text) =>
        /^https?:\/\/[^/?#\s"\\]+\/?$/.test(text) && URL.canParse(text) ? text.replace(/\/$/, '') : undefined,
    ),
    tlsCert: read<string | undefined>('TLS_CERT', undefined, 'a file', (text) => text),
    tlsKey: read<string | undefined>('TLS_KEY', undefined, 'a file', (text) => text),
    tlsClientCa: read<string | undefined>('TLS_CLIENT_CA', undefined, 'a file', (text) => text),
    hstsMaxAgeSeconds: integer('HSTS_MAX_AGE', 31_536_000, 0, 3_153_600_000),
    trustProxy: read<readonly Network[] | undefined>(
      'TRUST_PROXY',
      undefined,
      'IP addresses or networks: 10.0.0.0/8',
      parseNetworks,
    ),
    proxyHeaders: read('PROXY_HEADERS', 'x-forwarded', '`forwarded` or `x-forwarded`', (text) =>
      text === 'forwarded' || text === 'x-forwarded' ? text : undefined,
    ),
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
  };
}

/** The names and addresses by which clients may reach the service while AUTH is off, besides those of this machine. */
export function hostsOf(config: EdgeConfig & { readonly host: string }): readonly string[] {
  const { host, publicUrl, allowedHosts } = config;
  const published = publicUrl === undefined ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')];
  return [host, ...published, ...allowedHosts];
}

/**
 * The same for the listener of the metrics; undefined: any Host is accepted. A listener that only this machine reaches is
 * protected against DNS rebinding; the operator opened any other.
 */
export function hostsOfMetrics(
  config: EdgeConfig & { readonly host: string; readonly metricsHost: string },
): readonly string[] | undefined {
  return isLoopback(config.metricsHost) ? hostsOf(config) : undefined;
}
