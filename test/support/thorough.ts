import { randomInt } from 'node:crypto';
import type { Test } from './test.js';

/**
 * The setting with which the runner asks for more than `npm test` runs: `whole` in continuous integration, `many` in the set
 * `all`, `most` in the set `soak`.
 */
export const THOROUGH = 'PLINTH_TEST_THOROUGH';

export type Thoroughness = 'whole' | 'many' | 'most';

const requested = process.env[THOROUGH] as Thoroughness | undefined;

/** Whether tests repeat more than in `npm test` and in continuous integration. */
export const isThorough = requested === 'many' || requested === 'most';

/** Why tests that are not part of `npm test` are skipped there; false: they are not. */
export const notInDefault = requested === undefined && 'it runs in continuous integration';

/**
 * A number of repetitions, records or settings: `few` in `npm test` and in continuous integration, `many` in the set `all`, and
 * `most` in the set `soak`.
 */
export const times = (few: number, many: number, most = many): number =>
  requested === 'most' ? most : isThorough ? many : few;

/** All cases in the sets `all` and `soak`, otherwise always the same few, in even steps through the list. */
export function some<T>(cases: readonly T[], few: number): readonly T[] {
  if (isThorough || few >= cases.length) return cases;
  return Array.from({ length: few }, (_, at) => cases[Math.floor((at * cases.length) / few)]!);
}

/**
 * The seed of what a test draws, which it prints: always the same, except in the set `soak`. PLINTH_TEST_SEED repeats an
 * earlier run.
 */
export function seedOf(t: Test): number {
  const seed = Number(process.env.PLINTH_TEST_SEED ?? (requested === 'most' ? randomInt(2 ** 31) : 1));
  t.comment(`PLINTH_TEST_SEED=${seed}`);
  return seed;
}
