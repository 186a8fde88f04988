import { checkSync } from 'recheck';
import { isLinear } from '../../src/validation/linear-patterns.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';

const CHECK_MS = 10_000;

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

/** Parts of patterns, and how often each may occur. */
const ATOMS = ['a', '[a-z]', '\\d', '\\w', '.', '[^,]', '-', '(a|b)', '(?:ab)', '\\s', 'é', '\\.'];
const QUANTIFIERS = ['', '?', '*', '+', '{3}', '{0,9}', '{1,40}', '{2,}', '{0,300}'];

/** A generator of numbers below a bound (xorshift), the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

function* patterns(count: number): Generator<string> {
  const next = numbers(42);
  const pick = (from: readonly string[]): string => from[next(from.length)]!;
  for (let at = 0; at < count; at++) {
    const parts = Array.from({ length: 1 + next(4) }, () => pick(ATOMS) + pick(QUANTIFIERS));
    const [start, end] = next(5) === 0 ? ['', ''] : ['^', '$'];
    yield start + parts.join('') + end;
  }
}

t.test('a pattern that recheck calls vulnerable is never classified as linear', (t) => {
  const linear = [...new Set(patterns(times(80, 400)))].filter(isLinear);
  t.ok(linear.length > times(10, 50), `${linear.length} are compared`);
  for (const pattern of linear) {
    const { status } = checkSync(pattern, 'u', { timeout: CHECK_MS });
    t.equal(status, 'safe', pattern);
  }
  t.end();
});
