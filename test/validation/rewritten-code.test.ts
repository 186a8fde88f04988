import { Ajv2020 } from 'ajv/dist/2020.js';
import { rewritten } from '../../src/validation/rewritten-code.js';
import t from '../support/test.js';

/** The part of the code that a rewriting finds, in each case one that the others leave as it is. */
const ROWS: readonly (readonly [says: string, hidden: RegExp])[] = [
  ['the names of members in paths', /\.replace\(\/~\/g/],
  ['members without a value', / === undefined/],
  ['members that no schema has evaluated', /!props\d*\[/],
];

for (const [says, hidden] of ROWS)
  t.test(`the start fails if the code of the library has other text about ${says}`, async (t) => {
    // A module of its own, since the requirement is checked once in a process.
    const { requireRewritten } = (await import(
      `../../src/validation/rewritten-code.js?${encodeURIComponent(says)}`
    )) as typeof import('../../src/validation/rewritten-code.js');
    const open = (process: (code: string) => string) =>
      new Ajv2020({
        strictTypes: false,
        useDefaults: true,
        ownProperties: true,
        meta: false,
        validateSchema: false,
        code: { optimize: false, process },
      });
    // Text between the name and what follows hides it from the pattern, and changes nothing else.
    const other = (code: string) =>
      rewritten(code.replaceAll(new RegExp(hidden, 'g'), (text) => text.replace(/^(!?)/, '$1/**/')));
    t.throws(() => requireRewritten(open(other)), /^ajv generates other code/);
    t.doesNotThrow(() => requireRewritten(open(rewritten)));
    t.doesNotThrow(() => requireRewritten(open(other)), 'once');
  });
