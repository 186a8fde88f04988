import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../auth/principal.js';
import { originNotAllowed } from '../errors/request-errors.js';

/** Throws 403 for a request that a page of another site had its browser send. `isSecure`: whether the client uses https. */
export type RequireOrigin = (
  headers: IncomingHttpHeaders,
  scheme: Principal['scheme'],
  isSecure: () => boolean,
) => void;

/** Schemes for which a browser needs no page: it adds its password, its certificate, or its place in a network by itself. */
const AMBIENT: ReadonlySet<Principal['scheme']> = new Set(['none', 'basic', 'mtls']);

/**
 * Protects unsafe methods against cross-site request forgery. Pages of the service itself and of `corsOrigins` may send
 * them; programs that are no browsers send neither Sec-Fetch-Site nor Origin. Other credentials are in a field that a page
 * of another origin can set only with the permission of a CORS preflight.
 */
export function originRule({
  corsOrigins,
  publicUrl,
}: {
  readonly corsOrigins: readonly string[];
  readonly publicUrl: string | undefined;
}): RequireOrigin {
  const allowed = new Set([...corsOrigins, ...(publicUrl === undefined ? [] : [new URL(publicUrl).origin])]);
  return ({ 'sec-fetch-site': site, origin, host }, scheme, isSecure) => {
    if (!AMBIENT.has(scheme) || (site === undefined && origin === undefined)) return;
    if (site === 'same-origin' || site === 'none') return;
    if (origin !== undefined && allowed.has(origin)) return;
    // Browsers name the site over https and on localhost alone.
    if (site === undefined && isHostOf(origin!, host) && hasScheme(origin!, isSecure())) return;
    throw originNotAllowed();
  };
}

/** Whether a Host field names the host and port of an origin, with or without the default port. */
function isHostOf(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: expected } = new URL(origin);
  const own = `${protocol}//${host}`;
  return expected !== '' && URL.canParse(own) && new URL(own).host === expected;
}

/** Whether an origin has the scheme https, or http if `isSecure` is false. */
const hasScheme = (origin: string, isSecure: boolean): boolean =>
  origin.startsWith(isSecure ? 'https:' : 'http:');
