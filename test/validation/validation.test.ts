import { Ajv } from 'ajv';
import { type Failure, Problem } from '../../src/errors/problem.js';
import type { Json, JsonObject } from '../../src/json.js';
import { type Checked, compileCheck } from '../../src/validation/validation.js';
import { items, posts, users } from '../support/collections.js';
import t from '../support/test.js';

const checks = { users: compileCheck(users), items: compileCheck(items), posts: compileCheck(posts) };
const USER = { email: 'a@example.org', name: 'A' };

/** The failures of an input as `path keyword`, in any order; none when it is valid. */
function failures(check: (input: Json | undefined) => Checked, input: Json | undefined): string[] {
  try {
    check(input);
    return [];
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 400 || error.code !== 'VALIDATION_ERROR') throw error;
    return (error.more.details as Failure[]).map(({ path, keyword }) => `${path} ${keyword}`).sort();
  }
}

t.test('each field has its rules, and every failure is reported', async (t) => {
  const rows: [input: JsonObject, expected: string[]][] = [
    [{}, ['/email required', '/name required']],
    [{ name: 'A' }, ['/email required']],
    [{ ...USER, name: null }, ['/name type']],
    [{ ...USER, email: null, age: 'x' }, ['/age type', '/email type']],
    [{ ...USER, name: '' }, ['/name minLength']],
    [{ ...USER, name: ' \u00a0\n' }, ['/name minLength']],
    [{ ...USER, name: 'x'.repeat(100) }, []],
    [{ ...USER, name: ` ${'x'.repeat(100)} ` }, []],
    [{ ...USER, name: 'x'.repeat(101) }, ['/name maxLength']],
    [{ ...USER, name: '😀'.repeat(100) }, []],
    [{ ...USER, name: '😀'.repeat(101) }, ['/name maxLength']],
    [{ ...USER, name: ['A'] }, ['/name type']],
    [{ ...USER, email: 'a' }, ['/email format']],
    [{ ...USER, email: 'a@' }, ['/email format']],
    [{ ...USER, email: 'a b@example.org' }, ['/email format']],
    [{ ...USER, email: 'a@example.org\nx@example.org' }, ['/email format']],
    [{ ...USER, email: '' }, ['/email format']],
    [{ ...USER, email: `${'a'.repeat(250)}@b.org` }, ['/email maxLength']],
    [{ ...USER, email: 7 }, ['/email type']],
    [{ ...USER, age: 0 }, []],
    [{ ...USER, age: 150 }, []],
    [{ ...USER, age: -1 }, ['/age minimum']],
    [{ ...USER, age: '-1' }, ['/age minimum']],
    [{ ...USER, age: 151 }, ['/age maximum']],
    [{ ...USER, age: 1.5 }, ['/age type']],
    [{ ...USER, age: '1.5' }, ['/age type']],
    [{ ...USER, age: '' }, ['/age type']],
    [{ ...USER, age: ' 42' }, ['/age type']],
    [{ ...USER, age: '42\n' }, ['/age type']],
    [{ ...USER, age: '4e1' }, ['/age type']],
    [{ ...USER, age: '0x2a' }, ['/age type']],
    [{ ...USER, age: '\u0664\u0662' }, ['/age type']],
    [{ ...USER, age: true }, ['/age type']],
    [{ ...USER, age: [42] }, ['/age type']],
    [{ ...USER, password: '1234567' }, ['/password minLength']],
    [{ ...USER, password: 'x'.repeat(257) }, ['/password maxLength']],
    [{ ...USER, password: 12345678 }, ['/password type']],
  ];
  for (const [input, expected] of rows)
    t.same(failures(checks.users, input), expected, JSON.stringify(input).slice(0, 80));
});

t.test('items and posts have theirs', async (t) => {
  const rows: [check: keyof typeof checks, input: JsonObject, expected: string[]][] = [
    ['items', {}, ['/name required']],
    ['items', { name: 'x'.repeat(200), price: -0.5 }, []],
    ['items', { name: 'x'.repeat(201) }, ['/name maxLength']],
    ['items', { name: 'x', price: '1' }, ['/price type']],
    ['items', { name: 'x', price: null }, []],
    ['posts', {}, ['/userId required']],
    ['posts', { userId: null }, ['/userId type']],
    ['posts', { userId: {} }, ['/userId type']],
    ['posts', { userId: 'x' }, []],
    ['posts', { userId: 1 }, []],
  ];
  for (const [check, input, expected] of rows)
    t.same(failures(checks[check], input), expected, `${check} ${JSON.stringify(input).slice(0, 60)}`);
});

t.test('only an object is a record', async (t) => {
  for (const input of [undefined, null, [], [USER], 'x', 7, true])
    t.same(failures(checks.users, input), [' type'], JSON.stringify(input));
});

t.test('fields are normalised before they are judged, and only they', async (t) => {
  const rows: [input: JsonObject, fields: JsonObject][] = [
    [
      { email: '\t Ada@Example.ORG ', name: '\u00a0Ada  L. ' },
      { email: 'ada@example.org', name: 'Ada  L.' },
    ],
    [
      { ...USER, age: '42' },
      { ...USER, age: 42 },
    ],
    [
      { ...USER, age: '007' },
      { ...USER, age: 7 },
    ],
    [{ ...USER, age: null }, USER],
    [
      { ...USER, name: 'e\u0301' },
      { ...USER, name: 'e\u0301' },
    ],
    [
      { ...USER, bio: ' X ', tags: [null, { a: null }] },
      { ...USER, bio: ' X ', tags: [null, { a: null }] },
    ],
    [
      { ...USER, extra: null },
      { ...USER, extra: null },
    ],
  ];
  for (const [input, fields] of rows) t.strictSame(checks.users(input).fields, fields, JSON.stringify(input));
});

t.test('a text to compose has at most 30 combining characters in a row', async (t) => {
  const check = compileCheck({
    schema: { type: 'object', required: [], properties: { note: { type: 'string' } } },
    normalize: { note: ['nfc'] },
  });
  const [grave, below, both] = ['\u0300', '\u0316', '\u0344'];
  for (const [text, result] of [
    [`a${grave.repeat(30)}`, `\u00e0${grave.repeat(29)}`],
    [`${below}${grave}`.repeat(15), `${below.repeat(15)}${grave.repeat(15)}`],
    [`${`a${grave.repeat(30)}`.repeat(1000)}`, `\u00e0${grave.repeat(29)}`.repeat(1000)],
    ['\u1100\u1161'.repeat(1000), '\uac00'.repeat(1000)],
  ] as const)
    t.equal(check({ note: text }).fields.note, result);
  for (const run of [
    grave.repeat(31),
    `${below}${grave}`.repeat(50_000),
    both.repeat(31),
    '\u{1d165}'.repeat(31),
  ])
    t.same(failures(check, { note: `a${run}b` }), ['/note unicode']);
  t.equal(check({ other: `a${grave.repeat(31)}` }).fields.other, `a${grave.repeat(31)}`);
});

t.test('what the service owns is left out; what is write-only stands apart', async (t) => {
  const owned = { id: 7, created_at: 'x', updated_at: null, _version: 'x', _links: [] };
  const input = { ...owned, ...USER, password: ' 1234567', deep: { id: 1, password: 'nested' } };
  const before = structuredClone(input);
  t.strictSame(checks.users(input), {
    fields: { ...USER, deep: { id: 1, password: 'nested' } },
    writeOnly: { password: ' 1234567' },
  });
  t.strictSame(input, before, 'the input is not changed');
  t.strictSame(checks.users({ ...USER, password: null }), { fields: USER, writeOnly: {} });
  t.strictSame(checks.items({ name: 'x', password: 'short' }).fields, { name: 'x', password: 'short' });
});

t.test('any other key is an ordinary key, and stands for no field', async (t) => {
  const hostile =
    '{"email":"a@example.org","name":"A","__proto__":{"age":"x"},"constructor":{"prototype":1},"toString":2}';
  const { fields } = checks.users(JSON.parse(hostile) as Json);
  t.equal(JSON.stringify(fields), hostile);
  t.equal(Object.getPrototypeOf(fields), Object.prototype);
  const inherits = JSON.parse('{"__proto__":{"email":"a@example.org","name":"A"}}') as Json;
  t.same(failures(checks.users, inherits), ['/email required', '/name required']);
});

t.test('a failure never has the rejected value', async (t) => {
  const secret = 'hunter2';
  for (const field of ['email', 'name', 'age', 'password'])
    for (const value of [secret, [secret], { [secret]: secret }, `${secret}\n`.repeat(100)]) {
      try {
        checks.users({ email: 'x', name: '', [field]: value });
        t.fail('it was taken');
      } catch (error) {
        t.notMatch(JSON.stringify([error, (error as Problem).message]), secret, field);
      }
    }
});

t.test('every declaration is a valid JSON Schema, which the start takes for granted', async (t) => {
  const ajv = new Ajv();
  for (const { name, schema } of [users, items, posts])
    t.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`);
  const wrong = (schema: object) => () => compileCheck({ schema: schema as never, normalize: {} });
  const properties = (of: object) => ({ type: 'object', required: [], properties: { a: of } });
  t.throws(wrong(properties({ type: 'strng' })), /type must be/);
  t.throws(wrong(properties({ type: 'string', maxLenght: 3 })), /unknown keyword/);
  t.throws(wrong(properties({ type: 'string', maxLength: '3' })), /maxLength/);
  t.throws(wrong(properties({ type: 'string', format: 'no-such' })), /unknown format/);
});

t.test('a rule that several schemas of a value have is reported once', (t) => {
  const rule = { type: 'string', enum: ['a', 'b'] } as const;
  const schema = {
    type: 'object',
    required: [],
    properties: { v: { ...rule, allOf: [rule, rule] } },
  } as const;
  const check = compileCheck({ schema, normalize: {} });
  t.same(failures(check, { v: 'c' }), ['/v enum']);
  t.same(failures(check, { v: 1 }), ['/v enum', '/v type']);
  t.end();
});
