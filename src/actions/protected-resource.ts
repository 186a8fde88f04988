import { JSON_TYPE } from '../collection/representation.js';
import type { Action } from '../http/router.js';
import type { SchemeName } from '../principal.js';

/** What the operator decides of it. */
export interface ProtectedResource {
  /** The schemes that are taken. */
  readonly auth: readonly SchemeName[];
  /** How the service is reached from outside; undefined: as a request's Host says. */
  readonly publicUrl: string | undefined;
  readonly issuer: string | undefined;
  /** A file in PEM; undefined: connections are not encrypted here. */
  readonly tlsCert: string | undefined;
}

export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Which authorization server to ask for a token, and for which scopes (RFC 9728 section 3): 200, 406. */
export function protectedResource(settings: ProtectedResource, scopes: readonly string[]): Action {
  const { publicUrl, issuer, tlsCert } = settings;
  const scheme = tlsCert === undefined ? 'http' : 'https';
  return {
    offers: [JSON_TYPE],
    run: ({ headers }) => ({
      status: 200,
      headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'max-age=300'],
      body: JSON.stringify({
        resource: publicUrl ?? `${scheme}://${headers.host ?? 'localhost'}`,
        ...(issuer !== undefined && URL.canParse(issuer) ? { authorization_servers: [issuer] } : {}),
        scopes_supported: scopes,
        bearer_methods_supported: ['header'],
        tls_client_certificate_bound_access_tokens: false,
      }),
    }),
  };
}
