import { Problem } from '../../errors/problem.js';

/** A form that no page of this service submits for this caller. */
export const invalidForm = () =>
  new Problem(403, 'INVALID_FORM', 'The form is not from this page, or it has expired. Open the page again.');
