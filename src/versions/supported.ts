import { V1 } from './v1.js';
import { V2 } from './v2.js';
import type { Version } from './version.js';

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
