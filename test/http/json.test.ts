import t from 'tap';
import { Problem } from '../../src/errors.js';
import { readJson } from '../../src/http/json.js';

function refusal(bytes: string | Buffer): { path: string; keyword: string } | undefined {
  try {
    readJson(Buffer.from(bytes as string));
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 400) throw error;
    const [{ path, keyword }] = error.more.details as [{ path: string; keyword: string }];
    return { path, keyword };
  }
}

t.test('what is not JSON in UTF-8', async (t) => {
  for (const text of ['', ' ', '{', '{"a":1,}', "{'a':1}", '[1]x', 'NaN', '01', '"\n"', 'undefined'])
    t.same(refusal(text), { path: '', keyword: 'json' }, text);
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ])
    t.same(refusal(Buffer.from(bytes)), { path: '', keyword: 'encoding' });
  t.same(readJson(Buffer.from('\ufeff{"a":1}')), { a: 1 }, 'a byte order mark is ignored');
  t.same(readJson(Buffer.from('{"a":1,"a":2}')), { a: 2 }, 'the last of two members counts');
  t.same(Object.keys(readJson(Buffer.from('{"__proto__":{"a":1}}')) as object), ['__proto__']);
});

t.test('depth', async (t) => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  t.equal(refusal(nested(32)), undefined);
  t.same(refusal(nested(33)), { path: '', keyword: 'depth' });
  t.same(refusal(nested(100_000)), { path: '', keyword: 'depth' });
  t.same(refusal(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`), { path: '', keyword: 'depth' });
});

t.test('what PostgreSQL cannot hold, with its place', async (t) => {
  t.same(refusal('{"a":["\\u0000"]}'), { path: '/a/0', keyword: 'unicode' });
  t.same(refusal('{"a/b":{"~":"x\\ud800"}}'), { path: '/a~1b/~0', keyword: 'unicode' });
  t.same(refusal('{"\\udc00":1}'), { path: '', keyword: 'unicode' });
  t.same(refusal('{"a\\u0000":1}'), { path: '', keyword: 'unicode' });
  t.equal(refusal('"\\ud83d\\ude00"'), undefined, 'a pair of surrogates is a character');
});

t.test('numbers that a double cannot hold', async (t) => {
  const good = [
    '0',
    '-0',
    '0.1',
    '1.10',
    '1e2',
    '1E+2',
    '100000000000000000000',
    '9007199254740992',
    '3.141592653589793',
    '1.7976931348623157e308',
    '5e-324',
    '123456789012345',
    '0.30000000000000004',
    '1000000000000000000000000',
    '0e5',
    '0.0000000000000000000',
    '12e-1',
  ];
  for (const text of good) t.equal(refusal(text), undefined, text);
  const bad = [
    '1e400',
    '-1e400',
    '12345678901234567890',
    '9007199254740993',
    '3.14159265358979323846',
    '1e-400',
    '0.1000000000000000055511151231257827',
    '1.7976931348623159e308',
  ];
  for (const text of bad) t.same(refusal(`{"a":[${text}]}`), { path: '', keyword: 'number' }, text);
  t.equal(refusal('{"a":"12345678901234567890 1e999","\\"1e999":"\\\\"}'), undefined, 'not in texts');
});
