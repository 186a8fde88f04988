import { inspect } from 'node:util';
import type { Test } from '../test.js';

type Parser = Test['parser'];

/** Collects the failed assertions below a test, with what they compared, as text. */
export function collectFailures({ parser }: Pick<Test, 'parser'>): readonly string[] {
  const failures: string[] = [];
  const watch = (each: Parser): void => {
    each.on('fail', ({ fullname, name, diag }) => {
      // The failure of a test that has a failed assertion says nothing more.
      if (diag?.tapError === undefined && diag?.source?.includes('.test(') && failures.length > 0) return;
      failures.push(`${fullname}: ${name}\n${inspect(diag, { depth: 4, maxStringLength: 4000 })}`);
    });
    each.on('child', watch);
  };
  watch(parser);
  return failures;
}
