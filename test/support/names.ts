import { fileURLToPath } from 'node:url';

/** Whether this file is in the copy of the tests in which the collections have other names: see renamed.ts. */
const isCopy = import.meta.url.includes('/test-renamed/');

/** The setting with the declarations of the collections that the tests use. */
export const COLLECTIONS: Readonly<Record<string, string>> = isCopy
  ? { COLLECTIONS: fileURLToPath(new URL('../collections', import.meta.url)) }
  : {};

/** The database that test databases are copies of. */
export const TEMPLATE =
  (isCopy ? process.env.PLINTH_TEST_TEMPLATE_RENAMED : process.env.PLINTH_TEST_TEMPLATE) ?? '';

/** Options of tests that only make sense with the names of the built-in collections: why. */
export const onlyBuiltIn = (why: string) => ({ skip: isCopy && why });

/** Options of tests of sign-in: no other collection has passwords. */
export const SIGN_IN = onlyBuiltIn('sign-in is about one collection');
