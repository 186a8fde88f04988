import { HASH_COST } from '../../src/passwords/password.js';
import type { Test } from './test.js';

/** The cost of a service. A literal, since the copy of this module for the other names runs in the process as well. */
const REAL = 2 ** 15;

/** Hashes of passwords cost little in tests: a real one takes a quarter of a second of CPU time. */
HASH_COST.N = 2 ** 10;

/** Makes hashes as services do, or at another cost, until the test ends. */
export function useRealHashCost(t: Test, cost = REAL): void {
  const before = HASH_COST.N;
  HASH_COST.N = cost;
  t.teardown(() => {
    HASH_COST.N = before;
  });
}
