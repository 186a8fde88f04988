import type { Config } from '../../config/config.js';
import { isLoopback, usesHttps } from '../../config/parsers.js';
import { isInNetworks, parseIp } from '../../formats/ip-address.js';
import { type Check, resultsOf } from './check.js';

/** Networks of so many addresses hold clients as well as proxies. */
const MIN_PREFIX = 8;

/** Whether the settings of proxies and public addresses fit each other. */
export function checkProxies(config: Config): Check[] {
  const { trustProxy, proxyHeaders, publicUrl, host, tlsCert, auth } = config;
  const isForwarded = proxyHeaders === 'forwarded';
  const wide = trustProxy?.find(([, prefix]) => prefix < MIN_PREFIX);
  const loopbacks = ['127.0.0.1', '::1'].map((text) => parseIp(text));
  const trustsLoopback = loopbacks.some((address) => isInNetworks(trustProxy ?? [], address));
  const fields = isForwarded ? 'Forwarded' : 'X-Forwarded-For and X-Forwarded-Proto';
  const proxies = trustProxy
    ? `proxies in ${trustProxy.length} networks report clients in ${fields}`
    : 'no proxy is trusted';
  const url =
    publicUrl === undefined ? 'the Host of a request is the public name' : `PUBLIC_URL is ${publicUrl}`;
  return resultsOf('proxies').of(`${proxies}; ${url}`, [
    [
      !trustProxy && isForwarded,
      'warning',
      'PROXY_HEADERS has no effect, since TRUST_PROXY names no proxy',
      'set TRUST_PROXY to the addresses of the proxies, or remove PROXY_HEADERS',
    ],
    [
      wide,
      'problem',
      `TRUST_PROXY has ${wide?.join('/')}, which holds clients too: each of them can claim any address`,
      'set TRUST_PROXY to the addresses of the proxies alone',
    ],
    [
      trustProxy && !wide && isLoopback(host) && !trustsLoopback,
      'warning',
      `HOST is ${host}, which only proxies on this machine reach, and TRUST_PROXY does not name it`,
      'add 127.0.0.1 and ::1 to TRUST_PROXY, or set HOST to the address that the proxies reach',
    ],
    [
      publicUrl !== undefined && usesHttps(config) && tlsCert === undefined && !trustProxy,
      'warning',
      'PUBLIC_URL is https and this service has no TLS_CERT, so a proxy is before it that TRUST_PROXY does not name: all clients share its address in limits and logs',
      'set TRUST_PROXY to the address of the proxy, and PROXY_HEADERS to the fields that it writes',
    ],
    [
      publicUrl?.startsWith('http:') && tlsCert !== undefined,
      'warning',
      'PUBLIC_URL is http, and this service speaks https',
      'begin PUBLIC_URL with https, or remove TLS_CERT',
    ],
    [
      publicUrl === undefined && !isLoopback(host) && tlsCert === undefined && auth.length > 0,
      'warning',
      `clients send credentials to ${host} without TLS`,
      'set TLS_CERT and TLS_KEY; or with a proxy that has TLS, PUBLIC_URL and TRUST_PROXY',
    ],
  ]);
}
