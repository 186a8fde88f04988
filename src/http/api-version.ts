import type { IncomingMessage } from 'node:http';
import { otherVersion, unsupportedVersion, versionMismatch } from '../errors/request-errors.js';
import { pathOf } from '../telemetry/request-path.js';
import {
  type Retirement,
  splitVersion,
  VERSIONS,
  type Version,
  versionNamed,
  versionOf,
} from '../versions/supported.js';

type Field = string | string[] | undefined;

/** The version of a request that has not been examined. */
export function probableVersion({ url, headers }: IncomingMessage): Version {
  return versionOf(splitVersion(pathOf(url)).pathVersion, headers['api-version']);
}

/** Throws 400 for an API-Version field that names an unsupported version, or not the version of the path. */
export function requireVersion(field: NonNullable<Field>, pathVersion: Version | undefined): void {
  if (pathVersion && versionNamed(field) !== pathVersion)
    throw versionMismatch(pathVersion.number, String(field).trim());
  if (!versionNamed(field)) throw unsupportedVersion(VERSIONS.map(({ number }) => number));
}

/** Throws 400 if an operation names another version than the request that contains it, in API-Version or in its path. */
export function requireSameVersion(version: Version, field: Field, pathVersion: Version | undefined): void {
  if (field !== undefined) requireVersion(field, pathVersion);
  const given = pathVersion ?? (field === undefined ? version : versionNamed(field)!);
  if (given !== version) throw otherVersion(version.number, given.number);
}

export const isSunset = ({ sunset }: Retirement, now: number): boolean =>
  sunset !== undefined && now >= sunset.getTime();

/**
 * The fields of every response of a retiring version, from the date of deprecation on: Deprecation (RFC 9745), Sunset
 * (RFC 8594) and a link to the successor.
 */
export function retirementFields({ deprecation, sunset, successor }: Retirement, now: number): string[] {
  if (deprecation && now < deprecation.getTime()) return [];
  const fields: string[] = [];
  if (deprecation) fields.push('Deprecation', `@${Math.floor(deprecation.getTime() / 1000)}`);
  if (sunset) fields.push('Sunset', sunset.toUTCString());
  if (successor && (deprecation || sunset)) fields.push('Link', `<${successor}>; rel="successor-version"`);
  return fields;
}
