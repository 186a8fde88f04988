import type { SchemeName } from '../auth/principal.js';
import type { NotReadyReason } from '../db/readiness.js';
import { JSON_TYPE } from '../http/media-types.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { EXPOSITION_TYPE, exposition } from '../telemetry/exposition.js';
import type { Scrape } from '../telemetry/metrics.js';
import { singleFlight } from '../work/shared-runs.js';
import { json, TEXT } from './doc.js';
import { at, type Endpoint } from './endpoint.js';

export const WHOAMI: Endpoint = {
  ...at('GET', '/whoami', 'credential'),
  homeLink: { name: 'whoami', position: 5 },
  doc: {
    id: 'whoami',
    tag: 'service',
    summary: 'Show the caller and its scopes',
    success: { 200: json('The caller.', 'Caller', ['Cache-Control']) },
  },
  run: whoami,
};

/** Shows the principal of the request's credential: 200, 401. */
function whoami(_: unknown, { principal: { subject, scopes, scheme, expiresAt } }: Request): Reply {
  return {
    status: 200,
    // A shared cache must not show one caller's identity to another.
    headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'],
    body: JSON.stringify({
      subject,
      scopes: [...scopes],
      scheme,
      expires_at: expiresAt === undefined ? null : new Date(expiresAt * 1000).toISOString(),
    }),
  };
}

/** The settings that clients need to get an access token. */
export interface ProtectedResource {
  /** The enabled schemes. */
  readonly auth: readonly SchemeName[];
  /** The service's public URL; undefined: as the request's Host says. */
  readonly publicUrl: string | undefined;
  readonly issuer: string | undefined;
  readonly otherIssuer?: { readonly issuer: string } | undefined;
  /** PEM file; undefined: the service does not use TLS itself. */
  readonly tlsCert: string | undefined;
}

/** The endpoint that tells a client how to get an access token with some of these scopes (RFC 9728). */
export const metadata = (scopes: readonly string[]): Endpoint<{ readonly settings: ProtectedResource }> => ({
  ...at('GET', '/.well-known/oauth-protected-resource', 'nothing'),
  homeLink: { name: 'authorization', position: 13 },
  doc: {
    id: 'getProtectedResource',
    tag: 'service',
    summary: 'What a client needs to get an access token (RFC 9728)',
    success: { 200: json('The metadata.', 'ProtectedResource', ['Cache-Control']) },
  },
  run: ({ settings }, request) => protectedResource(settings, scopes, request),
});

/** Names the authorization server and the scopes (RFC 9728 section 3): 200, 406. */
function protectedResource(
  { publicUrl, issuer, otherIssuer, tlsCert }: ProtectedResource,
  scopes: readonly string[],
  { headers }: Request,
): Reply {
  const scheme = tlsCert === undefined ? 'http' : 'https';
  const servers = [issuer, otherIssuer?.issuer].filter((each) => each !== undefined && URL.canParse(each));
  return {
    status: 200,
    headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'max-age=300'],
    body: JSON.stringify({
      resource: publicUrl ?? `${scheme}://${headers.host ?? 'localhost'}`,
      ...(servers.length > 0 && { authorization_servers: servers }),
      scopes_supported: scopes,
      bearer_methods_supported: ['header'],
      tls_client_certificate_bound_access_tokens: false,
    }),
  };
}

export interface HealthServices {
  readonly notReadyReason: () => Promise<NotReadyReason>;
}

/** Health checks, without a credential. */
export const HEALTH: readonly Endpoint<HealthServices>[] = [
  {
    ...at('GET', '/healthz', 'nothing'),
    alwaysAvailable: true,
    homeLink: { name: 'health', position: 12 },
    doc: {
      id: 'getHealth',
      tag: 'service',
      summary: 'Whether the process is alive',
      success: { 200: json('It is.', 'Health', ['Cache-Control']) },
    },
    run: () => healthReply(200, 'alive'),
  },
  {
    ...at('GET', '/readyz', 'nothing'),
    alwaysAvailable: true,
    doc: {
      id: 'getReadiness',
      tag: 'service',
      summary: 'Whether the service can respond to requests',
      success: {
        200: json('It can.', 'Health', ['Cache-Control']),
        503: json('It cannot; the status says why.', 'Health', ['Cache-Control', 'Retry-After']),
      },
    },
    run: async ({ notReadyReason }) => {
      const reason = await notReadyReason();
      return reason === undefined ? healthReply(200, 'ready') : healthReply(503, reason);
    },
  },
];

export function healthReply(status: number, state: string): Reply {
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];
  if (status === 503) headers.push('Retry-After', '1');
  return { status, headers, body: `{"status":"${state}"}` };
}

export interface MetricServices {
  readonly scrape: Scrape;
}

/** The metrics, in maintenance as well. */
export const METRICS: Endpoint<MetricServices> = {
  ...at('GET', '/metrics', { scopes: ['admin'] }),
  alwaysAvailable: true,
  doc: {
    id: 'getMetrics',
    tag: 'service',
    summary: 'Metrics in the text format of Prometheus',
    success: {
      200: { description: 'The metrics.', content: { 'text/plain': TEXT }, headers: ['Cache-Control'] },
    },
  },
  open: ({ scrape }) => showMetrics(scrape),
};

/** The metrics in the text format of Prometheus. */
export function showMetrics(scrape: Scrape): Action {
  // Concurrent requests share one response: it takes a while to write.
  const run = singleFlight(async (): Promise<Reply> => {
    const headers = ['Content-Type', EXPOSITION_TYPE, 'Cache-Control', 'no-store'];
    return { status: 200, headers, body: exposition(await scrape()) };
  });
  return { run };
}
