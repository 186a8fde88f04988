import { invalid } from './errors.js';
import { Problem } from './problem.js';

/** A patch document that is not well-formed (RFC 5789 section 2.2). */
export const invalidPatch = (message: string, operation: number, member?: string) =>
  invalid([
    {
      path: `${operation < 0 ? '' : `/${operation}`}${member === undefined ? '' : `/${member}`}`,
      message,
      keyword: 'json-patch',
    },
  ]);

/** A well-formed patch that cannot be applied to the current record (RFC 5789 section 2.2). */
export const unprocessablePatch = (message: string, operation: number) =>
  new Problem(422, 'UNPROCESSABLE_PATCH', message, { details: { operation } });

export const patchTestFailed = (operation: number) =>
  new Problem(409, 'PATCH_TEST_FAILED', 'A test of the patch failed; nothing was changed.', {
    details: { operation },
  });
