import type { Config } from '../../config/config.js';
import { isLoopback, usesHttps } from '../../config/parsers.js';
import { isInNetworks, parseIp } from '../../formats/ip-address.js';
import { type Check, resultsOf } from './check.js';

const { ok, warning, problem } = resultsOf('proxies');

/** Networks of so many addresses hold clients as well as proxies. */
const MIN_PREFIX = 8;

/** Whether the settings of proxies and public addresses fit each other. */
export function checkProxies(config: Config): Check[] {
  const found = [...trustFaults(config), ...urlFaults(config)];
  if (found.length > 0) return found;
  const { trustProxy, proxyHeaders, publicUrl } = config;
  const url =
    publicUrl === undefined ? 'the Host of a request is the public name' : `PUBLIC_URL is ${publicUrl}`;
  return [
    ok(
      trustProxy === undefined
        ? `no proxy is trusted; ${url}`
        : `proxies in ${trustProxy.length} networks report clients in ${fieldsOf(proxyHeaders)}; ${url}`,
    ),
  ];
}

const fieldsOf = (family: Config['proxyHeaders']): string =>
  family === 'forwarded' ? 'Forwarded' : 'X-Forwarded-For and X-Forwarded-Proto';

function trustFaults({ trustProxy, proxyHeaders, host }: Config): Check[] {
  if (trustProxy === undefined)
    return proxyHeaders === 'forwarded'
      ? [
          warning(
            'PROXY_HEADERS has no effect, since TRUST_PROXY names no proxy',
            'set TRUST_PROXY to the addresses of the proxies, or remove PROXY_HEADERS',
          ),
        ]
      : [];
  const wide = trustProxy.find(([, prefix]) => prefix < MIN_PREFIX);
  if (wide)
    return [
      problem(
        `TRUST_PROXY has ${String(wide[0])}/${wide[1]}, which holds clients too: each of them can claim any address`,
        'set TRUST_PROXY to the addresses of the proxies alone',
      ),
    ];
  const loopbacks = ['127.0.0.1', '::1'].map((text) => parseIp(text));
  return isLoopback(host) && !loopbacks.some((address) => isInNetworks(trustProxy, address))
    ? [
        warning(
          `HOST is ${host}, which only proxies on this machine reach, and TRUST_PROXY does not name it`,
          'add 127.0.0.1 and ::1 to TRUST_PROXY, or set HOST to the address that the proxies reach',
        ),
      ]
    : [];
}

function urlFaults(config: Config): Check[] {
  const { publicUrl, tlsCert, trustProxy, host } = config;
  const found: Check[] = [];
  if (publicUrl !== undefined && usesHttps(config) && tlsCert === undefined && trustProxy === undefined)
    found.push(
      warning(
        'PUBLIC_URL is https and this service has no TLS_CERT, so a proxy is before it that TRUST_PROXY does not name: all clients share its address in limits and logs',
        'set TRUST_PROXY to the address of the proxy, and PROXY_HEADERS to the fields that it writes',
      ),
    );
  if (publicUrl?.startsWith('http:') && tlsCert !== undefined)
    found.push(
      warning(
        'PUBLIC_URL is http, and this service speaks https',
        'begin PUBLIC_URL with https, or remove TLS_CERT',
      ),
    );
  if (publicUrl === undefined && !isLoopback(host) && tlsCert === undefined && config.auth.length > 0)
    found.push(
      warning(
        `clients send credentials to ${host} without TLS`,
        'set TLS_CERT and TLS_KEY; or with a proxy that has TLS, PUBLIC_URL and TRUST_PROXY',
      ),
    );
  return found;
}
