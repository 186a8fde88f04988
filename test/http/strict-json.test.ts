import { Problem } from '../../src/errors/problem.js';
import { readJson } from '../../src/http/strict-json.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

function refusal(bytes: string | Buffer): { path: string; keyword: string } | undefined {
  return refusalOf(() => readJson(Buffer.from(bytes as string)));
}

function refusalOf(read: () => unknown): { path: string; keyword: string } | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 400) throw error;
    const [{ path, keyword }] = error.more.details as [{ path: string; keyword: string }];
    return { path, keyword };
  }
}

/** Of a body that is read in stages. */
async function refusalOfLong(text: string): Promise<{ path: string; keyword: string } | undefined> {
  const outcome = await Promise.resolve(readJson(Buffer.from(text))).catch((error: unknown) => error);
  return refusalOf(() => {
    if (outcome instanceof Problem) throw outcome;
  });
}

t.test('what is not JSON in UTF-8', async (t) => {
  for (const text of [
    ...words(`
    { {"a":1,} {"a":1 {"a":"} {"a":[1] [{"a":1} {"a":1}] [1]} {'a':1} [1]x NaN 01 undefined +1 .5 1.
    1e - {"a"}
  `),
    '',
    ' ',
    '[1,\r\n',
    '"\n"',
    '\ufeff',
    '\ufeff\ufeff1',
    '[1 2]',
    '"\\x"',
    '"\\u12"',
    '// a\n1',
    '\u00a01',
    '\u0000',
  ])
    t.same(refusal(text), { path: '', keyword: 'json' }, text);
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
    [0x22, 0xe2, 0x82],
    [0xff, 0xfe, 0x31, 0x00],
  ])
    t.same(refusal(Buffer.from(bytes)), { path: '', keyword: 'encoding' });
  t.same(readJson(Buffer.from('\ufeff{"a":1}')), { a: 1 }, 'a byte order mark is ignored');
  t.same(readJson(Buffer.from('{"a":1,"a":2}')), { a: 2 }, 'the last of two members counts');
  const own = readJson(Buffer.from('{"__proto__":{"a":1},"constructor":2}')) as object;
  t.same(Object.keys(own), ['__proto__', 'constructor']);
  t.equal(JSON.stringify(readJson(Buffer.from('{"a":{"b":1},"c":0,"a":{"d":2}}'))), '{"a":{"d":2},"c":0}');
  for (const text of ['null', 'true', '"x"', '1', ' [ ] ', '\t{\r\n}'])
    t.equal(refusal(text), undefined, text);
});

t.test('depth', async (t) => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  t.equal(refusal(nested(32)), undefined);
  t.same(refusal(nested(33)), { path: '', keyword: 'depth' });
  t.same(await refusalOfLong(nested(100_000)), { path: '', keyword: 'depth' });
  t.equal(refusal(`${'{"a":'.repeat(32)}1${'}'.repeat(32)}`), undefined);
  t.equal(refusal(`[${nested(31)},${nested(31)}]`), undefined, 'side by side is not nested');
  t.equal(refusal(JSON.stringify(nested(100))), undefined, 'brackets in a text are not levels');
  t.same(await refusalOfLong('['.repeat(100_000)), { path: '', keyword: 'depth' });
  t.same(refusal(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`), { path: '', keyword: 'depth' });
});

t.test('what PostgreSQL cannot hold, with its place', async (t) => {
  t.same(refusal('{"a":["\\u0000"]}'), { path: '/a/0', keyword: 'unicode' });
  t.same(refusal('{"a/b":{"~":"x\\ud800"}}'), { path: '/a~1b/~0', keyword: 'unicode' });
  t.same(refusal('{"\\udc00":1}'), { path: '', keyword: 'unicode' });
  t.same(refusal('{"a\\u0000":1}'), { path: '', keyword: 'unicode' });
  t.same(refusal('"\\u0000"'), { path: '', keyword: 'unicode' });
  t.same(refusal('{"a":[1,{"b":"\\udc00\\ud800"}]}'), { path: '/a/1/b', keyword: 'unicode' });
  t.same(refusal('{"":{" ":"\\u0000"}}'), { path: '// ', keyword: 'unicode' });
  t.same(refusal('{"__proto__":{"x":"\\u0000"}}'), { path: '/__proto__/x', keyword: 'unicode' });
  t.same(
    refusal('{"a":[{"b\\u0000":1}]}'),
    { path: '/a/0', keyword: 'unicode' },
    'of a key: where it stands',
  );
  t.equal(
    refusal('"\\\\u0000 \\\\ud800 \\u0001 \\ufffe"'),
    undefined,
    'an escaped backslash begins no escape',
  );
  t.equal(refusal('"\\ud83d\\ude00"'), undefined, 'a pair of surrogates is a character');
});

t.test('numbers that a double cannot hold', async (t) => {
  const valid = [
    ...words(`
      0 -0 0.1 1.10 1e2 1E+2 100000000000000000000 9007199254740992 3.141592653589793
      1.7976931348623157e308 5e-324 123456789012345 0.30000000000000004 1000000000000000000000000 0e5
      0.0000000000000000000 12e-1 1e-2 -1.50e+0003 0e-999999 -0.0e0 9007199254740994 0.00000000000000001
    `),
    `0.1${'0'.repeat(1000)}`,
    `1${'0'.repeat(308)}`,
    '2.2250738585072014e-308',
  ];
  for (const text of valid) t.equal(refusal(text), undefined, text);
  const bad = [
    ...words(`
      1e400 -1e400 12345678901234567890 9007199254740993 3.14159265358979323846 1e-400
      0.1000000000000000055511151231257827 1.7976931348623159e308 -9007199254740993 9007199254740993.0
      90071992547409930e-1 -1e-400 1e99999999999999999999 1e-99999999999999999999
    `),
    `1${'0'.repeat(309)}`,
  ];
  for (const text of bad) t.same(refusal(`{"a":[${text}]}`), { path: '', keyword: 'number' }, text);
  t.equal(refusal('{"a":"12345678901234567890 1e999","\\"1e999":"\\\\"}'), undefined, 'not in texts');
  t.same(refusal('{"a":"\\\\","b":1e400}'), { path: '', keyword: 'number' }, 'after a text that ends in \\');
});

t.test('a long number is read in a time that grows no faster than its length', async (t) => {
  // Steps that grew with the square of so many digits would take hours: the test would not end.
  const zeros = '0'.repeat(4_000_000);
  t.same(await refusalOfLong(`1${zeros}1`), { path: '', keyword: 'number' });
  t.same(await refusalOfLong(`0.1${zeros}1`), { path: '', keyword: 'number' });
  t.equal(await refusalOfLong(`0.1${zeros}`), undefined);
  t.same(await refusalOfLong(`1${zeros}-`), { path: '', keyword: 'json' });
});
