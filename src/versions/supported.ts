import type { Version } from './version.js';

const V1: Version = {
  number: '1',
  mount: '/api/v1',
  links: 'root',
  lists: 'numbered',
  errors: { isAlwaysProblem: false, requestId: 'requestId', failures: 'errors' },
  locatesNested: false,
};

const V2: Version = {
  number: '2',
  mount: '/api/v2',
  links: 'mount',
  lists: 'keyset',
  errors: { isAlwaysProblem: true, requestId: 'request_id', failures: 'details' },
  locatesNested: true,
};

/** The supported versions, the oldest first. */
export const VERSIONS: readonly Version[] = [V1, V2];

/** The version of requests that name none. */
export const DEFAULT_VERSION = V1;

/**
 * The prefix of the paths of links in a version. `publicPrefix` is PUBLIC_PREFIX: where the root addresses are for clients,
 * or the mount of version 1. The mounts of all versions are beside each other.
 */
export const prefixOf = (version: Version, publicPrefix: string): string =>
  version.links === 'root' ? publicPrefix : mountOf(version, publicPrefix);

/** Where a version is mounted for clients. */
export function mountOf({ mount }: Version, publicPrefix: string): string {
  const above = publicPrefix.endsWith(V1.mount) ? publicPrefix.slice(0, -V1.mount.length) : publicPrefix;
  return above + mount;
}
