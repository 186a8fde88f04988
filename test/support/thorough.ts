/** The setting with which the runner asks for thorough tests: in all sets but the default one. */
export const THOROUGH = 'PLINTH_TEST_THOROUGH';

export const isThorough = process.env[THOROUGH] !== undefined;

/** A number of repetitions, records or settings: `few` in `npm test`, `many` in thorough tests. */
export const times = (few: number, many: number): number => (isThorough ? many : few);
