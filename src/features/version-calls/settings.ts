import { FeatureSettings } from '../../config/config.js';
import type { Reader } from '../../config/env-reader.js';
import { prefixOf, VERSIONS } from '../../versions/supported.js';

export const VERSION_CALL_SETTINGS = new FeatureSettings({
  read: (reader) => ({
    /** Whether the service counts the calls of versions that retire. */
    versionCalls: reader.flag('VERSION_CALLS', true),
    retiring: RETIRABLE.map((version) => datesOf(version.number, reader)),
  }),
  isOn: ({ versionCalls }) => versionCalls,
  /** RFC 9745 section 4. */
  faults: ({ retiring }) =>
    retiring.flatMap(({ number, deprecation, sunset }) =>
      deprecation && sunset && sunset < deprecation
        ? [`V${number}_SUNSET must be a date that is not before V${number}_DEPRECATION`]
        : [],
    ),
  complete: ({ retiring }, { publicPrefix }) => ({
    retirement: Object.fromEntries(
      retiring.map(({ number, deprecation, sunset }, index) => [
        number,
        { deprecation, sunset, successor: prefixOf(VERSIONS[index + 1]!, publicPrefix) },
      ]),
    ),
  }),
  paths: ['admin'],
  typeNames: ['VersionCalls', 'VersionCallsList'],
  removed: ['V1_SUCCESSOR', 'V2_DEPRECATION', 'V2_SUNSET', 'V2_SUCCESSOR'],
});

/** The versions that have a successor. */
const RETIRABLE = VERSIONS.slice(0, -1);

const datesOf = (number: string, { date }: Reader) => ({
  number,
  deprecation: date(`V${number}_DEPRECATION`),
  sunset: date(`V${number}_SUNSET`),
});
