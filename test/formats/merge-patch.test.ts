import t from 'tap';
import { assign, mergePatch } from '../../src/formats/merge-patch.js';
import type { Json } from '../../src/json.js';

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

t.test('any key is an ordinary key', async (t) => {
  const patch = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":2}},"toString":{"z":3}}');
  t.equal(JSON.stringify(mergePatch({}, patch)), JSON.stringify(patch));
  t.equal(JSON.stringify(assign({ a: 1 }, patch)), `{"a":1,${JSON.stringify(patch).slice(1)}`);
  const { x, y, z } = {} as Record<string, unknown>;
  t.same([x, y, z], [undefined, undefined, undefined]);
});
