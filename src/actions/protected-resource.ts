import { JSON_TYPE } from '../collection/representation.js';
import type { Action } from '../http/router.js';
import type { SchemeName } from '../principal.js';

/** The settings that apply. */
export interface ProtectedResource {
  /** The enabled schemes. */
  readonly auth: readonly SchemeName[];
  /** The service's public URL; undefined: as the request's Host says. */
  readonly publicUrl: string | undefined;
  readonly issuer: string | undefined;
  /** PEM file; undefined: the service does not use TLS itself. */
  readonly tlsCert: string | undefined;
}

export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Names the authorization server and the scopes (RFC 9728 section 3): 200, 406. */
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
