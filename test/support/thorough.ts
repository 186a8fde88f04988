/**
 * The setting with which the runner asks for more than `npm test` runs: `whole` in continuous integration, `many` in the
 * other sets, `most` in those that people start and wait for.
 */
export const THOROUGH = 'PLINTH_TEST_THOROUGH';

export type Thoroughness = 'whole' | 'many' | 'most';

const requested = process.env[THOROUGH] as Thoroughness | undefined;

/** Whether tests repeat more than in `npm test` and in continuous integration. */
export const isThorough = requested === 'many' || requested === 'most';

/** Why tests that are not part of `npm test` are skipped there; false: they are not. */
export const notInDefault = requested === undefined && 'it runs in continuous integration';

/** Whether tests that otherwise draw some of their cases have all. */
export const hasAllCases = requested === 'most';

/**
 * A number of repetitions, records or settings: `few` in `npm test` and in continuous integration, `many` in `npm test -- all`
 * and the sets that it consists of, and `most` in the sets `soak` and `thorough`.
 */
export const times = (few: number, many: number, most = many): number =>
  requested === 'most' ? most : isThorough ? many : few;

/** All cases; in `npm test` and in continuous integration only so many that follow each other, which the seed of the run draws. */
export function drawn<T>(cases: readonly T[], few: number): readonly T[] {
  if (isThorough) return cases;
  const first = Number(process.env.PLINTH_SEED ?? 0) % cases.length;
  return [...cases.slice(first), ...cases.slice(0, first)].slice(0, few);
}
