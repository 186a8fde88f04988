import { assign, mergePatch } from '../../src/formats/merge-patch.js';
import type { Json } from '../../src/json.js';
import t from '../support/test.js';

t.test('RFC 7396 appendix A', async (t) => {
  const rows: [original: string, patch: string, result: string][] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ];
  for (const [original, patch, result] of rows) {
    const target = JSON.parse(original) as Json;
    t.equal(JSON.stringify(mergePatch(target, JSON.parse(patch))), result, `${original} ${patch}`);
    t.equal(JSON.stringify(target), original, 'the target is not changed');
  }
});

t.test('RFC 7396 section 3: the example', async (t) => {
  const target: Json = {
    title: 'Goodbye!',
    author: { givenName: 'John', familyName: 'Doe' },
    tags: ['example', 'sample'],
    content: 'This will be unchanged',
  };
  const patch: Json = {
    title: 'Hello!',
    phoneNumber: '+01-123-456-7890',
    author: { familyName: null },
    tags: ['example'],
  };
  t.strictSame(mergePatch(target, patch), {
    title: 'Hello!',
    author: { givenName: 'John' },
    tags: ['example'],
    content: 'This will be unchanged',
    phoneNumber: '+01-123-456-7890',
  });
});

t.test('null deletes a member, at any level, and is a value in an array', async (t) => {
  const rows: [target: Json | undefined, patch: Json, result: Json][] = [
    [undefined, { a: 1, b: null }, { a: 1 }],
    [null, { a: { b: null } }, { a: {} }],
    ['text', {}, {}],
    [{ a: 1 }, {}, { a: 1 }],
    [{ a: 1 }, [], []],
    [{ a: 1 }, { a: { b: 1, c: null } }, { a: { b: 1 } }],
    [{ a: [1, { b: 2 }] }, { a: [null, { b: null }] }, { a: [null, { b: null }] }],
    [{ a: { b: { c: 1, d: 2 } } }, { a: { b: { c: null } } }, { a: { b: { d: 2 } } }],
  ];
  for (const [target, patch, result] of rows)
    t.strictSame(mergePatch(target, patch), result, JSON.stringify([target, patch]));
  t.strictSame(assign({ a: { b: 1 }, c: 2 }, { a: { d: null }, c: null }), { a: { d: null }, c: null });
});

t.test('neither the target nor the patch is changed', async (t) => {
  const target = { a: { b: 1 } };
  const patch = { a: { c: { d: null, e: [1] } } };
  mergePatch(target, patch);
  assign(target, patch);
  t.strictSame([target, patch], [{ a: { b: 1 } }, { a: { c: { d: null, e: [1] } } }]);
});

t.test('any key is an ordinary key', async (t) => {
  const patch = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":2}},"toString":{"z":3}}');
  t.equal(JSON.stringify(mergePatch({}, patch)), JSON.stringify(patch));
  t.equal(JSON.stringify(assign({ a: 1 }, patch)), `{"a":1,${JSON.stringify(patch).slice(1)}`);
  const { x, y, z } = {} as Record<string, unknown>;
  t.same([x, y, z], [undefined, undefined, undefined]);
  const own = JSON.parse('{"__proto__":{"x":1,"y":2},"a":3}') as Json;
  t.equal(
    JSON.stringify(mergePatch(own, JSON.parse('{"__proto__":{"x":null}}'))),
    '{"__proto__":{"y":2},"a":3}',
  );
  t.equal(JSON.stringify(mergePatch(own, JSON.parse('{"__proto__":null}'))), '{"a":3}');
  t.equal(
    JSON.stringify(mergePatch({}, { toString: null, constructor: { a: 1 } })),
    '{"constructor":{"a":1}}',
  );
});
