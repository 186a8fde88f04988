import type { Config } from '../config/config.js';

/** The first segments of the core's paths, as far as a collection could have them. A test compares them with the endpoints. */
const CORE_PATHS = [
  'access',
  'api',
  'batch',
  'errors',
  'events',
  'healthz',
  'keys',
  'metrics',
  'readyz',
  'whoami',
];

/**
 * The first segments of the paths that the service has with any settings, so that a collection does not prevent a feature
 * from being turned on later.
 */
export const ownPathsOf = ({ features }: Pick<Config, 'features'>): ReadonlySet<string> =>
  new Set([...CORE_PATHS, ...[...features.keys()].flatMap(({ part }) => part.paths ?? [])]);

const HEALTH_CHECK = /^(?:\/api\/v[12])?\/(?:healthz|readyz)(?:\?|$)/;

/** Whether a request target is /healthz or /readyz, which respond under any load and to any Host. */
export function isHealthCheck(target: string): boolean {
  return HEALTH_CHECK.test(target);
}
