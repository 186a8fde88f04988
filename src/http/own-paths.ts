const HEALTH_CHECK = /^(?:\/api\/v[12])?\/(?:healthz|readyz)(?:\?|$)/;

/** Whether a request target is /healthz or /readyz, which respond under any load and to any Host. */
export function isHealthCheck(target: string): boolean {
  return HEALTH_CHECK.test(target);
}
