import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import t from '../support/test.js';

t.test(
  'collections check warns of each pattern that may not take linear time, and of no other',
  async (t) => {
    const slow = '^(a+)+$';
    const property = { type: 'string', pattern: slow };
    const folder = declare(t, {
      'books.json': {
        type: 'object',
        properties: {
          isbn: { type: 'string', pattern: '^[0-9]{13}$' },
          name: property,
          'a/b': { type: 'array', items: { anyOf: [property, { type: 'number' }] } },
          map: { type: 'object', patternProperties: { '^x-': {}, '^[a-z]+$': property } },
          given: { type: 'object', default: { pattern: slow }, enum: [{ pattern: slow }] },
          shared: { $ref: '_shared.json#/$defs/code' },
          pattern: { type: 'string' },
        },
      },
      '_shared.json': { $defs: { code: property } },
    });
    for (const format of [[], ['--json']]) {
      const { code, out, err } = await plinth(t, ['collections', 'check', ...format], {
        COLLECTIONS: folder,
      });
      t.equal(code, 0, 'it is no fault');
      const lines = err.trimEnd().split('\n');
      t.strictSame(
        lines.map((line) => /#(\/\S*): the pattern/.exec(line)?.[1]),
        [
          '/properties/name/pattern',
          '/properties/a~1b/items/anyOf/0/pattern',
          '/properties/map/patternProperties/^x-',
          '/properties/map/patternProperties/^[a-z]+$/pattern',
          '/$defs/code/pattern',
        ],
      );
      t.match(
        lines[0],
        /^warning: .*books\.json#\/properties\/name\/pattern: the pattern "\^\(a\+\)\+\$" may not take/,
      );
      t.match(lines[0], /50 ms of the processor, and then the body is 400$/);
      t.match(lines.at(-1), /_shared\.json#/);
      t.notMatch(out, /warning/, 'the output is the same for programs');
    }
  },
);
