/**
 * The first segments of the paths that the service itself has with any settings, as far as a collection could have them, so that a collection does not prevent a
 * feature from being turned on later. A test compares them with the routes.
 */
export const OWN_PATHS: ReadonlySet<string> = new Set([
  'account',
  'admin',
  'api',
  'authorize',
  'batch',
  'device',
  'device_authorization',
  'docs',
  'errors',
  'events',
  'healthz',
  'interaction',
  'introspect',
  'jwks',
  'keys',
  'mcp',
  'metrics',
  'par',
  'readyz',
  'revoke',
  'token',
  'userinfo',
  'webhooks',
  'whoami',
]);

const HEALTH_CHECK = /^(?:\/api\/v[12])?\/(?:healthz|readyz)(?:\?|$)/;

/** Whether a request target is /healthz or /readyz, which respond under any load and to any Host. */
export function isHealthCheck(target: string): boolean {
  return HEALTH_CHECK.test(target);
}
