/** The setting with which the runner asks for more repetitions: `many` in all sets but the default one, `most` in those by hand. */
export const THOROUGH = 'PLINTH_TEST_THOROUGH';

export type Thoroughness = 'many' | 'most';

const requested = process.env[THOROUGH] as Thoroughness | undefined;

export const isThorough = requested !== undefined;

/** Why tests that are not part of `npm test` are skipped there; false: they are not. */
export const notInDefault = !isThorough && 'it runs in continuous integration';

/** Whether tests that otherwise draw some of their cases have all. */
export const hasAllCases = requested === 'most';

/**
 * A number of repetitions, records or settings: `few` in `npm test`, `many` in continuous integration, and `most` in the sets
 * `soak` and `thorough`.
 */
export const times = (few: number, many: number, most = many): number =>
  requested === 'most' ? most : requested === 'many' ? many : few;

/** All cases; in `npm test` only so many that follow each other, which the seed of the run draws. */
export function drawn<T>(cases: readonly T[], few: number): readonly T[] {
  if (isThorough) return cases;
  const first = Number(process.env.PLINTH_SEED ?? 0) % cases.length;
  return [...cases.slice(first), ...cases.slice(0, first)].slice(0, few);
}
