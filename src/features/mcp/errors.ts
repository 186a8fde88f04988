import { MAX_FAILURES, withShortPath } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';

/** The arguments of an MCP tool. */
export const invalidArguments = (failures: readonly Failure[]) =>
  new Problem(400, 'VALIDATION_ERROR', 'The arguments of the tool are not valid.', {
    details: failures.slice(0, MAX_FAILURES).map(withShortPath),
    shape: 'validation',
  });
