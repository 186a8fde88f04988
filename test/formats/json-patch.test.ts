import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../../src/errors/problem.js';
import { jsonPatch } from '../../src/formats/json-patch.js';
import { clone, type Json } from '../../src/json.js';
import t from '../support/test.js';

const parse = (text: string) => JSON.parse(text) as Json;

/** The effect of a patch on a document: the result, or the status of its refusal. Never changes the document. */
function outcome(document: Json, patch: Json): { result?: Json; status?: number; more?: Problem['more'] } {
  const given = clone(document);
  try {
    return { result: resultOf(jsonPatch(given, patch)) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (!isDeepStrictEqual(given, document)) throw new Error('the document was changed', { cause: error });
    if (CODES[error.status] !== error.code) throw error;
    return { status: error.status, more: error.more };
  }
}

function resultOf(work: Generator<undefined, Json>): Json {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** The rows of a text, with cells between bars. */
const table = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((row) => row.trim().split(' | '));

/** A patch in JSON, or with operations as `add PATH VALUE`, `remove PATH`, `move FROM PATH` between semicolons. */
const patchOf = (text: string): Json =>
  text.startsWith('[')
    ? parse(text)
    : text.split(/; ?\s*/).map((operation) => {
        const [, op, path, rest] = /^(\w+) (\S*)(?: (.*))?$/.exec(operation)!;
        if (op === 'move' || op === 'copy') return { op, from: path!, path: rest! };
        return { op: op!, path: path!, ...(rest !== undefined && { value: parse(rest) }) };
      });

const shown = ({ status, result }: ReturnType<typeof outcome>): string =>
  String(status ?? JSON.stringify(result));

const CODES: Record<number, string> = {
  400: 'VALIDATION_ERROR',
  409: 'PATCH_TEST_FAILED',
  422: 'UNPROCESSABLE_PATCH',
};

t.test('RFC 6902 appendix A', async (t) => {
  const rows = table(`
    A.1 adding an object member | {"foo":"bar"} | add /baz "qux" | {"foo":"bar","baz":"qux"}
    A.2 adding an array element | {"foo":["bar","baz"]} | add /foo/1 "qux" | {"foo":["bar","qux","baz"]}
    A.3 removing an object member | {"baz":"qux","foo":"bar"} | remove /baz | {"foo":"bar"}
    A.4 removing an array element | {"foo":["bar","qux","baz"]} | remove /foo/1 | {"foo":["bar","baz"]}
    A.5 replacing a value | {"baz":"qux","foo":"bar"} | replace /baz "boo" | {"baz":"boo","foo":"bar"}
    A.6 moving a value | {"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}} | move /foo/waldo /qux/thud | {"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}
    A.7 moving an array element | {"foo":["all","grass","cows","eat"]} | move /foo/1 /foo/3 | {"foo":["all","cows","eat","grass"]}
    A.8 testing a value: success | {"baz":"qux","foo":["a",2,"c"]} | test /baz "qux"; test /foo/1 2 | {"baz":"qux","foo":["a",2,"c"]}
    A.9 testing a value: error | {"baz":"qux"} | test /baz "bar" | 409
    A.10 adding a nested member object | {"foo":"bar"} | add /child {"grandchild":{}} | {"foo":"bar","child":{"grandchild":{}}}
    A.11 ignoring unrecognized elements | {"foo":"bar"} | [{"op":"add","path":"/baz","value":"qux","xyz":123}] | {"foo":"bar","baz":"qux"}
    A.12 adding to a nonexistent target | {"foo":"bar"} | add /baz/bat "qux" | 422
    A.13 invalid JSON Patch document: the later op counts, and there is nothing to remove | {"foo":"bar"} | [{"op":"add","path":"/baz","value":"qux","op":"remove"}] | 422
    A.14 ~ escape ordering | {"/":9,"~1":10} | test /~01 10 | {"/":9,"~1":10}
    A.15 comparing strings and numbers | {"/":9,"~1":10} | test /~01 "10" | 409
    A.16 adding an array value | {"foo":["bar"]} | add /foo/- ["abc","def"] | {"foo":["bar",["abc","def"]]}
  `);
  for (const [says, document, patch, expected] of rows)
    t.equal(shown(outcome(parse(document!), patchOf(patch!))), expected, says!);
});

t.test('RFC 6901 section 5: every pointer of the example', async (t) => {
  const document = parse(
    '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8}',
  );
  const pointers: Record<string, Json> = {
    '': document,
    '/foo': ['bar', 'baz'],
    '/foo/0': 'bar',
    '/': 0,
    '/a~1b': 1,
    '/c%d': 2,
    '/e^f': 3,
    '/g|h': 4,
    '/i\\j': 5,
    '/k"l': 6,
    '/ ': 7,
    '/m~0n': 8,
  };
  for (const [path, value] of Object.entries(pointers)) {
    t.same(outcome(document, [{ op: 'test', path, value }]).status, undefined, path);
    t.equal(outcome(document, [{ op: 'test', path, value: 'other' }]).status, 409, path);
  }
});

t.test('a malformed patch is 400, and is seen before anything runs', async (t) => {
  const bad: Json[] = [
    {},
    null,
    'x',
    7,
    [null],
    ['add'],
    [[]],
    [{}],
    ...table(`
      {"op":"drop","path":"/a"} | {"op":"Add","path":"/a","value":1} | {"op":["add"],"path":"/a","value":1} | {"op":1,"path":"/a"}
      {"op":null,"path":"/a"} | {"op":true,"path":"/a"} | {"op":{"op":"add"},"path":"/a","value":1} | {"op":" add","path":"/a","value":1}
      {"op":"__proto__","path":"/a"} | {"path":"/a","value":1} | {"__proto__":{"op":"remove","path":"/a"}} | {"op":"toString","path":"/a"}
      {"op":"add","value":1} | {"op":"add","path":1,"value":1} | {"op":"add","path":null,"value":1} | {"op":"add","path":["a"],"value":1}
      {"op":"add","path":"a","value":1} | {"op":"add","path":" /a","value":1} | {"op":"add","path":"/a"} | {"op":"replace","path":"/a"}
      {"op":"test","path":"/a"} | {"op":"move","path":"/a"} | {"op":"copy","path":"/a"} | {"op":"copy","path":"/a","from":1}
      {"op":"copy","path":"/a","from":null} | {"op":"move","path":"/b","from":["a"]} | {"op":"move","from":"/a"} | {"op":"remove","path":"#/a"}
      {"op":"remove","path":"/a~2b"} | {"op":"remove","path":"/a~~0"} | {"op":"move","from":"/a","path":"/a/b/c"} | {"op":"move","from":"/z~0","path":"/z~0/y"}
      {"op":"move","from":"a","path":"/b"} | {"op":"remove","path":"/~"} | {"op":"remove","path":"/~2"} | {"op":"remove","path":"/a~"}
      {"op":"copy","from":"/~3","path":"/a"} | {"op":"move","from":"/a","path":"/a/b"} | {"op":"move","from":"","path":"/a"}
    `).flatMap((row) => row.map((operation): Json => [parse(operation)])),
    Array.from({ length: 10_001 }, () => ({ op: 'remove', path: '/a' })),
  ];
  for (const patch of bad) {
    t.equal(outcome({ a: { b: 1 } }, patch).status, 400, JSON.stringify(patch).slice(0, 80));
    // A test that fails first would be 409: a patch is read whole before it runs.
    if (Array.isArray(patch))
      t.equal(outcome({ a: { b: 1 } }, [{ op: 'test', path: '/a', value: 0 }, ...patch]).status, 400);
  }
});

t.test('an operation that cannot be applied is 422', async (t) => {
  const document = { a: [1, 2], o: { x: null }, s: 'text', n: 5 };
  const far = '9'.repeat(400);
  const bad = [
    ...(patchOf(
      `
      remove /z; replace /z 1; test /z null; move /z /y; copy /z /y; add /a/3 1; add /a/01 1; add /a/+1 1; add /a/-1 1;
      add /a/1.0 1; add /a/1e0 1; add /a/ 1; add /a/x 1; add /a/length 1; add /a/9007199254740993 1; add /a/${far} 1;
      add /a/-0 1; add /a/0x1 1; add /a/\u0661 1; add /a/-- 1; add /a/-/b 1; add /a/0/0 1; add /a/__proto__ 1;
      remove /a/length; replace /a/length 0; test /a/length 2; test /a/${far} null; test /a/01 2; copy /a/2 /y;
      copy /a/01 /y; copy /a/0 /z/y; move /a/- /a/-; move /a/2 /a/0; move /a /z/y; remove /o/x/y; remove /o/X; remove /;
      remove /a~1; remove /o%2fx; test /__proto__ {}; copy /__proto__ /y; move /constructor /y;
      test /constructor/name "Object"; test /s/constructor null; add ${'/x'.repeat(100_000)} 1; remove /a/2; remove /a/-;
      remove /a/00; replace /a/- 1; replace /a/2 1; test /a/- 1; copy /a/- /y; move /a/0 /a/2; move /z /z; add /s/0 1;
      add /n/x 1; add /o/x/y 1; test /s/length 4; test /toString null; remove /constructor; replace /__proto__ {};
      add /__proto__/polluted 1; add /constructor/prototype/polluted 1; copy /hasOwnProperty /y
    `.trim(),
    ) as Json[]),
    ...['/a/ 1', '/a/1 ', '/a/1\n'].map((path) => ({ op: 'add', path, value: 1 })),
  ];
  for (const operation of bad) {
    const earlier = { op: 'add', path: '/fine', value: 1 };
    const later = { op: 'test', path: '/n', value: 0 };
    const { status } = outcome(document, [earlier, operation, later]);
    t.equal(status, 422, JSON.stringify(operation).slice(0, 80));
  }
  t.equal(({} as Record<string, unknown>).polluted, undefined);
});

t.test('what each operation does at its edges', async (t) => {
  const rows = table(`
    {"a":1} | add /a null | {"a":null}
    {"a":1} | replace /a null | {"a":null}
    {"a":null} | test /a null; remove /a | {}
    {"a":1} | add  [1] | [1]
    {"a":1} | replace  null | null
    {"a":1} | remove ; add  {} | {}
    {"a":1} | move   | {"a":1}
    {"a":1} | copy   | {"a":1}
    [] | add /- 1; add /0 0 | [0,1]
    [1,2,3] | replace /1 null | [1,null,3]
    [1,2,3] | move /2 /0 | [3,1,2]
    [1,2,3] | move /1 /1 | [1,2,3]
    [1,2,3] | copy /2 /0 | [3,1,2,3]
    [1,2,3] | remove /0; remove /0 | [3]
    [[1],[2]] | move /0 /1 | [[2],[1]]
    {"a":{"b":1}} | copy /a /a/c | {"a":{"b":1,"c":{"b":1}}}
    {"a":1} | [{"op":"remove","path":"/a","value":1,"from":7}] | {}
    {"a":1} | [{"op":"add","path":"/b","value":2,"from":"not a pointer"}] | {"a":1,"b":2}
    {"a":1} | [{"op":"copy","path":"/b","from":"/a","value":2}] | {"a":1,"b":1}
    {"a~b":1,"~01":2} | remove /a~0b; remove /~001 | {}
    {"a":1,"toString":2} | move /toString /constructor | {"a":1,"constructor":2}
    {"__proto__":1,"a":2} | replace /__proto__ {"x":3} | 422
    {"__proto__":{"x":1}} | test /__proto__/x 1; remove /__proto__ | 422
    {"a":{"x":1}} | move /a /__proto__ | 422
    {"__proto__":{"x":1}} | copy /__proto__ /a | 422
    {"a":{"__proto__":1}} | test  {"a":{"__proto__":1}} | {"a":{"__proto__":1}}
    {"a":100} | test /a 100.0; test /a 100.0 | {"a":100}
    {"a":0} | test /a -0 | {"a":0}
    {"a":1} | replace  {"b":2}; add /c 3 | {"b":2,"c":3}
    {"a":1} | remove  | null
    {"a":1} | copy  /b | {"a":1,"b":{"a":1}}
    {"a":{"b":2}} | move /a/b  | 2
    {"a":{"b":2}} | move /a /a | {"a":{"b":2}}
    {"a":{"b":2}} | move /a/b /a | {"a":2}
    {"ab":1,"a":2} | move /a /ab | {"ab":2}
    {"a":[1,2]} | add /a/2 3; add /a/0 0 | {"a":[0,1,2,3]}
    {"a":[1,[2]]} | add /a/1/- 3; replace /a/0 0 | {"a":[0,[2,3]]}
    {"a":[1,2,3]} | move /a/0 /a/- | {"a":[2,3,1]}
    {"a":{"b":1}} | copy /a /c; add /c/d 2 | {"a":{"b":1},"c":{"b":1,"d":2}}
    {"":1} | replace / 2 | {"":2}
    {"":{"":1}} | test // 1 | {"":{"":1}}
    {} | add /__proto__ {"x":1}; add /__proto__/y 2 | 422
    {"a":1.0} | test /a 1 | {"a":1}
    {"a":{"x":1,"y":[2]}} | test /a {"y":[2],"x":1} | {"a":{"x":1,"y":[2]}}
    {"a":1} | [] | {"a":1}
    {"a":1,"-":2} | remove /- | {"a":1}
    {"1":1} | add /01 2 | {"1":1,"01":2}
  `);
  for (const [document, patch, expected] of rows)
    t.equal(shown(outcome(parse(document!), patchOf(patch!))), expected, `${document} ${patch}`);
  const differs = table(`
    [1,2] | [2,1]
    {"x":1} | {}
    {} | {"x":1}
    [] | {}
    null | false
    1 | "1"
    1 | true
    0 | null
    "" | null
    "A" | "a"
    "\u00e9" | "e\u0301"
    [1] | {"0":1}
    [1,2] | [1]
    {"x":{"y":1}} | {"x":{"y":2}}
    {} | {"__proto__":{}}
    {"x":1} | {"toString":1}
    {"x":1} | {"y":1}
  `);
  for (const [a, value] of differs)
    t.equal(outcome({ a: parse(a!) }, [{ op: 'test', path: '/a', value: parse(value!) }]).status, 409);
});

t.test('an operation before one that cannot be applied leaves nothing behind', async (t) => {
  const document = { a: [1, { b: 2 }], c: 3 };
  const patch = (last: Json): Json => [
    { op: 'add', path: '/a/1/d', value: 4 },
    { op: 'remove', path: '/a/0' },
    { op: 'move', from: '/c', path: '/e' },
    last,
  ];
  t.equal(outcome(document, patch({ op: 'test', path: '/e', value: 4 })).status, 409);
  t.equal(outcome(document, patch({ op: 'remove', path: '/c' })).status, 422);
  t.same(outcome(document, patch({ op: 'test', path: '/e', value: 3 })).result, {
    a: [{ b: 2, d: 4 }],
    e: 3,
  });
});

t.test('a refusal tells the operation', async (t) => {
  const rows: [last: Json, details: unknown][] = [
    [{ op: 'test', path: '/a', value: 2 }, { operation: 1 }],
    [{ op: 'remove', path: '/b' }, { operation: 1 }],
    [
      { op: 'add', path: '/b' },
      [{ path: '/1/value', keyword: 'json-patch', message: 'is missing: add needs a value' }],
    ],
  ];
  for (const [last, details] of rows) {
    const { more } = outcome({ a: 1 }, [{ op: 'test', path: '/a', value: 1 }, last]);
    t.same(more?.details, details, JSON.stringify(last));
  }
});

t.test('a patch shares nothing with its result, and cannot grow without bound', async (t) => {
  const patch = [
    { op: 'add', path: '/a', value: { b: 1 } },
    { op: 'add', path: '/a/c', value: 2 },
  ];
  const before = clone(patch);
  t.same(outcome({}, patch).result, { a: { b: 1, c: 2 } });
  t.same(patch, before);
  const doubling = Array.from({ length: 40 }, (_, n) => ({ op: 'copy', from: '', path: `/x${n}` }));
  t.equal(outcome({ a: 'x'.repeat(100) }, doubling).status, 422);
  const nesting = Array.from({ length: 4000 }, () => [
    { op: 'add', path: '/c', value: [[[[[]]]]] },
    { op: 'move', from: '/b', path: '/c/0/0/0/0/0' },
    { op: 'move', from: '/c', path: '/b' },
  ]).flat();
  t.equal(outcome({ b: 1 }, [...nesting.slice(0, 9000), { op: 'copy', from: '/b', path: '/d' }]).status, 422);
  const longest = Array.from({ length: 10_000 }, (_, n) => ({ op: 'add', path: '/a/-', value: n }));
  t.equal((outcome({ a: [] }, longest).result as { a: Json[] }).a.length, 10_000);
  const half = 'x'.repeat(512 * 1024 - 2);
  const copies = (count: number): Json =>
    Array.from({ length: count }, () => ({ op: 'copy', from: '/a', path: '/b' }));
  t.equal(outcome({ a: half }, copies(2)).status, undefined);
  t.equal(outcome({ a: half }, copies(3)).status, 422, 'also when a copy replaces another');
});
