import type { IncomingMessage } from 'node:http';
import { misdirectedRequest } from '../errors/request-errors.js';
import { isLoopbackAddress, parseIp } from '../formats/ip-address.js';
import { isHealthCheck } from './early-reply.js';

/** Throws 421 for a request whose Host, or authority in absolute-form, is not allowed. */
export type RequireAllowedHost = (req: IncomingMessage) => void;

/**
 * Accepts `localhost`, loopback addresses and `names`, on any port. This prevents DNS rebinding: a web page that lets its
 * own name resolve to an internal address still sends its name in Host. HTTP/1.0 without Host is accepted, since no browser
 * sends it, and so is any Host for a health check, which reveals only a status. Call it after `readTarget`, which checks
 * the syntax of both.
 */
export function allowHosts(names: readonly string[]): RequireAllowedHost {
  const allowed = new Set(['localhost', ...names.map(canonical)]);
  let lastAccepted: string | undefined;
  const accepts = (url: string): boolean => {
    const host = hostOf(url);
    return allowed.has(host) || isLoopbackAddress(host);
  };
  return ({ headers: { host }, url = '' }) => {
    if (host !== lastAccepted && host !== undefined) {
      if (accepts(`http://${host}`)) lastAccepted = host;
      else if (!isHealthCheck(url)) throw misdirectedRequest();
    }
    if (url[0] !== '/' && url !== '*' && !accepts(url)) throw misdirectedRequest();
  };
}

/** The host of a URL in one spelling; empty: the URL is invalid. */
const hostOf = (url: string): string =>
  URL.canParse(url) ? canonical(new URL(url).hostname.replace(/^\[|\]$/g, '')) : '';

/** One spelling for each name and address: lower case without a final dot; IPv6 as in RFC 5952. */
function canonical(host: string): string {
  return parseIp(host)?.toString() ?? host.toLowerCase().replace(/\.$/, '');
}
