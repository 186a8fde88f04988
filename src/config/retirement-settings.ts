import { prefixOf, VERSIONS } from '../versions/supported.js';
import type { Reader } from './env-reader.js';

/** When a version retires, and where its successor is. */
export interface RetirementSettings {
  readonly deprecation: Date | undefined;
  readonly sunset: Date | undefined;
  readonly successor: string | undefined;
}

/** By the number of the version. */
export type RetirementConfig = Readonly<Record<string, RetirementSettings>>;

/** Reads when each version retires: `V1_DEPRECATION`, `V1_SUNSET` and `V1_SUCCESSOR`. The next version is the successor. */
export function readRetirement({ date, read }: Reader, publicPrefix: string): RetirementConfig {
  return Object.fromEntries(
    VERSIONS.map(({ number }, index) => {
      const next = VERSIONS[index + 1];
      return [
        number,
        {
          deprecation: date(`V${number}_DEPRECATION`),
          sunset: date(`V${number}_SUNSET`),
          successor: read<string | undefined>(
            `V${number}_SUCCESSOR`,
            next && prefixOf(next, publicPrefix),
            'a URL or a path',
            parseSuccessor,
          ),
        },
      ];
    }),
  );
}

const parseSuccessor = (text: string): string | undefined =>
  /^(https?:\/\/|\/)[\x21-\x7e]*$/.test(text) && !/[<>"]/.test(text) && URL.canParse(text, 'http://host')
    ? text
    : undefined;

/** RFC 9745 section 4. */
export const retirementFaults = (retirement: RetirementConfig): string[] =>
  Object.entries(retirement).flatMap(([number, { deprecation, sunset }]) =>
    deprecation && sunset && sunset < deprecation
      ? [`V${number}_SUNSET must be a date that is not before V${number}_DEPRECATION`]
      : [],
  );
