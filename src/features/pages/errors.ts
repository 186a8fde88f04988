import { define } from '../../errors/problem.js';

/** A form that no page of this service submits for this caller. */
export const invalidForm = define('INVALID_FORM', 403, {
  message: 'The form is not from this page, or it has expired.',
  cause: 'A form was submitted by a page of another origin, or without the token and the cookie of its page.',
  remedy: 'Open the page again, and submit its form. Programs send JSON instead.',
  example: [],
  make: () => ({}),
});

/** A form that arrives after the end of its session. */
export const signedOut = () => invalidForm.variant({ message: 'You are signed out.' });
