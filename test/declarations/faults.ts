import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import t, { type Test } from '../support/test.js';

/** The lines of the check about declarations, by their files, without the name of their folder. */
export async function checked(t: Test, files: Readonly<Record<string, unknown>>, code: number) {
  const COLLECTIONS = declare(t, files);
  const ended = await plinth(t, ['collections', 'check'], { COLLECTIONS });
  t.equal(ended.code, code, ended.err);
  return linesOf(ended.err, COLLECTIONS);
}

export const linesOf = (text: string, folder: string): string[] =>
  text.replaceAll(`${folder}/`, '').replaceAll('plinth: ', '').trim().split('\n');

/** Declarations as the files c0.json, c1.json and so on. */
export const numbered = (declarations: readonly object[]): Record<string, object> =>
  Object.fromEntries(declarations.map((declaration, at) => [`c${at}.json`, declaration]));

/** The place of a fault, below the properties unless it begins with a slash. */
export const placeOf = (fault: string): string => (fault.startsWith('/') ? fault : `/properties/${fault}`);

/** Declarations, each with the places of all its faults and the beginnings of their reasons. */
export type FaultRow = readonly [declaration: object, ...faults: string[]];

export function testFaults(name: string, rows: readonly FaultRow[]): void {
  t.test(name, async (t) => {
    const lines = await checked(t, numbered(rows.map(([declaration]) => declaration)), 78);
    for (const [at, [declaration, ...faults]] of rows.entries()) {
      const found = lines.filter((line) => line.startsWith(`c${at}.json`));
      t.equal(found.length, faults.length, JSON.stringify(declaration), { found });
      for (const fault of faults.map(placeOf))
        t.ok(
          found.some((line) => line.startsWith(`c${at}.json#${fault}`)),
          fault,
          { found },
        );
    }
  });
}
