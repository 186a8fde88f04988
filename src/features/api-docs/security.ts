import { ACCOUNT_DELETION, type SchemeName } from '../../auth/principal.js';
import type { JsonObject } from '../../json.js';

/** The settings of authentication that the document names. */
export interface SecuritySettings {
  /** The accepted schemes; none: every client may do everything. */
  readonly auth: readonly SchemeName[];
  readonly issuer: string | undefined;
  /** Whether the issuer is the embedded authorization server. */
  readonly authServer: boolean;
}

/** The security schemes that are active, by their names. */
export function securitySchemes(
  { auth, issuer, authServer }: SecuritySettings,
  scopes: readonly string[],
): JsonObject {
  const known: Record<SchemeName, () => JsonObject> = {
    bearer: () => ({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'An access token or an API key.',
    }),
    basic: () => ({
      type: 'http',
      scheme: 'basic',
      description: 'The email address and password of a record.',
    }),
    'api-key': () => ({ type: 'apiKey', in: 'header', name: 'X-API-Key' }),
    signature: () => ({
      type: 'apiKey',
      in: 'header',
      name: 'X-Signature',
      description: 'An HMAC-SHA256 of the request, with X-Key-Id and X-Timestamp: docs/authentication.md.',
    }),
    mtls: () => ({ type: 'mutualTLS', description: 'A client certificate.' }),
  };
  const schemes: JsonObject = Object.fromEntries(auth.map((name) => [name, known[name]()]));
  if (auth.includes('bearer') && issuer !== undefined && URL.canParse(issuer)) {
    const base = issuer.replace(/\/$/, '');
    schemes.oauth2 = authServer
      ? { type: 'oauth2', flows: flowsOf(base, scopes) }
      : { type: 'openIdConnect', openIdConnectUrl: `${base}/.well-known/openid-configuration` };
  }
  return schemes;
}

function flowsOf(issuer: string, scopes: readonly string[]): JsonObject {
  const named = Object.fromEntries(scopes.map((scope) => [scope, describe(scope)]));
  const tokenUrl = `${issuer}/token`;
  return {
    authorizationCode: {
      authorizationUrl: `${issuer}/authorize`,
      tokenUrl,
      refreshUrl: tokenUrl,
      scopes: named,
    },
    clientCredentials: { tokenUrl, scopes: named },
  };
}

function describe(scope: string): string {
  if (scope === ACCOUNT_DELETION) return "Delete the caller's own account.";
  const [name, action] = scope.split(':');
  if (action !== undefined) return `${action === 'read' ? 'Read' : 'Write'} ${name}.`;
  return scope === 'admin' ? 'Everything.' : scope === 'self' ? "The caller's own records." : scope;
}
