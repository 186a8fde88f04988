import { unsupportedVersion, versionMismatch, versionSunset } from '../errors/errors.js';

/** The supported versions. */
const VERSIONS = ['1'];
const MOUNT = '/api/v1';

/** When a version retires. */
export interface Retirement {
  readonly deprecation: Date | undefined;
  readonly sunset: Date | undefined;
  readonly successor: string | undefined;
}

/** A path without its version. `mounted`: the path named the version. */
export interface Versioned {
  readonly path: string;
  readonly mounted: boolean;
}

/** Removes the version from a path: /api/v1/users and /users are one resource. No path begins with another version. */
export function splitVersion(path: string): Versioned {
  if (!path.startsWith(`${MOUNT}/`)) return { path, mounted: false };
  return { path: path.slice(MOUNT.length), mounted: true };
}

/** Throws 400 for an API-Version field that names an unsupported version, or not the version of the path. */
export function requireVersion(field: string | string[] | undefined, mounted: boolean): void {
  if (field === undefined || field === '1') return;
  const version = String(field).trim();
  if (mounted) throw versionMismatch('1', version);
  throw unsupportedVersion(VERSIONS);
}

/**
 * The fields of every response of a retiring version, from the date of deprecation on: Deprecation (RFC 9745), Sunset
 * (RFC 8594) and a link to the successor. Throws 410 after the sunset.
 */
export function retirementFields(retirement: Retirement, now: number): string[] {
  const { deprecation, sunset, successor } = retirement;
  if (sunset && now >= sunset.getTime()) throw versionSunset('1');
  if (deprecation && now < deprecation.getTime()) return [];
  const fields: string[] = [];
  if (deprecation) fields.push('Deprecation', `@${Math.floor(deprecation.getTime() / 1000)}`);
  if (sunset) fields.push('Sunset', sunset.toUTCString());
  if (successor && (deprecation || sunset)) fields.push('Link', `<${successor}>; rel="successor-version"`);
  return fields;
}
