/** The differences of a version of the API. All versions have the same routes and run the same actions. */
export interface Version {
  /** As in the field API-Version. */
  readonly number: string;
  /** Every route is available below this path. */
  readonly mount: string;
  /** Where links and Location lead: to the root addresses, behind PUBLIC_PREFIX, or below the mount. */
  readonly links: 'root' | 'mount';
  /**
   * `numbered`: pages by their number, and whole arrays. `keyset`: each list is a page between cursors, its parameters are
   * strict, and its records have `_links`.
   */
  readonly lists: 'numbered' | 'keyset';
  readonly errors: ErrorForm;
  /** Whether the creation of a record below its parent responds with Location. */
  readonly locatesNested: boolean;
}

/** How errors are shown. */
export interface ErrorForm {
  /** Each error is application/problem+json; otherwise only for clients whose Accept names it. */
  readonly isAlwaysProblem: boolean;
  /** The members of a problem document for the request's id and for the failures of a body. */
  readonly requestId: 'requestId' | 'request_id';
  readonly failures: 'errors' | 'details';
}

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

const MOUNTS = '/api/v';

/** Removes the version from a path: /api/v1/users and /users are one resource. No path begins with another version. */
export function splitVersion(path: string): { path: string; pathVersion: Version | undefined } {
  if (!path.startsWith(MOUNTS)) return { path, pathVersion: undefined };
  const pathVersion = VERSIONS.find(({ mount }) => path.startsWith(mount) && path[mount.length] === '/');
  return { path: pathVersion ? path.slice(pathVersion.mount.length) : path, pathVersion };
}

/** The version of a request: that of its path, or of its API-Version field; the default for one that is not supported. */
export function versionOf(pathVersion: Version | undefined, field: string | string[] | undefined): Version {
  if (pathVersion || field === undefined) return pathVersion ?? DEFAULT_VERSION;
  return versionNamed(field) ?? DEFAULT_VERSION;
}

/** The supported version that a field API-Version names; undefined: there is none. */
export function versionNamed(field: string | string[]): Version | undefined {
  const given = String(field).trim();
  return VERSIONS.find(({ number }) => number === given);
}

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

/** When a version retires. */
export interface Retirement {
  readonly deprecation: Date | undefined;
  readonly sunset: Date | undefined;
  readonly successor: string | undefined;
}

export const isRetiring = ({ deprecation, sunset }: Retirement): boolean =>
  deprecation !== undefined || sunset !== undefined;
