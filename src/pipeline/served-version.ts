import type { CounterValue, LabelledMetric } from '../telemetry/instruments.js';
import { isRetiring, prefixOf, type Retirement, VERSIONS, type Version } from '../versions/supported.js';

/** A version as this service has it. */
export interface ServedVersion {
  readonly version: Version;
  /** Precedes the paths of links. */
  readonly prefix: string;
  /** Undefined: the version does not retire. */
  readonly retirement: Retirement | undefined;
  /** The number of requests. */
  readonly requests: CounterValue;
  /** The fields of the version, by whether the path names it. */
  readonly pathFields: readonly string[];
  readonly rootFields: readonly string[];
}

export type ServedVersions = ReadonlyMap<Version, ServedVersion>;

export interface VersionSettings {
  /** Precedes the paths of version 1. */
  readonly publicPrefix: string;
  /** Whether responses are compressed for clients that accept it. */
  readonly compression: boolean;
  /** By the number of the version. */
  readonly retirement: Readonly<Record<string, Retirement>>;
  /** Counts the requests by version. */
  readonly versionRequests: LabelledMetric<CounterValue>;
}

/** All versions, so that a request finds what is always the same for its own. */
export function servedVersions({
  publicPrefix,
  compression,
  retirement,
  versionRequests,
}: VersionSettings): ServedVersions {
  // A response without a coding depends on Accept-Encoding, too (RFC 9110 section 12.5.5).
  const coded = compression ? ', Accept-Encoding' : '';
  return new Map(
    VERSIONS.map((version): [Version, ServedVersion] => {
      const given = retirement[version.number];
      const served = {
        version,
        prefix: prefixOf(version, publicPrefix),
        retirement: given && isRetiring(given) ? given : undefined,
        requests: versionRequests.of(version.number),
        pathFields: ['API-Version', version.number, 'Vary', `Accept${coded}`],
        rootFields: ['API-Version', version.number, 'Vary', `Accept, API-Version${coded}`],
      };
      return [version, served];
    }),
  );
}
