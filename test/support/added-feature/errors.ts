import { define } from '../../../src/errors/problem.js';

/** There is nothing to show. */
export const noStats = define('NO_STATS', 409, {
  message: 'Nothing was counted.',
  cause: 'The table of the feature is empty.',
  remedy: 'Send a request without `past`.',
  example: [],
  make: () => ({}),
});
