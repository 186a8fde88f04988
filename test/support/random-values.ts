import type { Json, JsonObject } from '../../src/json.js';
import { integersOf } from './runner/random.js';

/** Texts that a reader of CSV or JSON may take for something else. */
const TEXTS = [
  '',
  ' ',
  'plain',
  '5',
  '-0.5e3',
  '007',
  '12345678901234567890',
  'true',
  'null',
  '"quoted"',
  'a "b" c',
  '""',
  '{"a":1}',
  '[1,2]',
  '{not json',
  'a,b;c\td|e',
  'two\nlines',
  'two\r\nlines\r',
  '=1+1',
  "'=1+1",
  '-2+3',
  '@x',
  'back\\slash \\N \\',
  '\u2028 Éclair 日本 🙂',
  '\uFEFFmark',
];
const NAMES = [
  'plain',
  'with space',
  'a,b',
  'c;d',
  'e|f',
  '"q"',
  'tab\there',
  'Ünï',
  'line\nbreak',
  '',
  '5',
  "it's",
];

/** Values that are the same for each seed. */
export function generator(seed: number) {
  const next = integersOf(seed);
  const pick = <T>(list: readonly T[]): T => list[next(list.length)]!;
  const text = () => pick(TEXTS);
  const number = () => pick([0, -1, 1.5, 1e21, 9_007_199_254_740_991, 1e-7, next(1000)]);
  const any = (depth = 0): Json =>
    pick<() => Json>([
      text,
      number,
      () => next(2) === 1,
      () => null,
      ...(depth > 2
        ? []
        : [
            () => Array.from({ length: next(3) }, () => any(depth + 1)),
            () => ({ [text()]: any(depth + 1) }),
          ]),
    ])();
  const FIELDS: readonly [schema: JsonObject, value: () => Json][] = [
    [{ type: 'string' }, text],
    [{ type: 'string', 'x-index': true, maxLength: 100 }, text],
    [{ type: ['string', 'null'] }, text],
    [{ type: 'number', 'x-index': true }, number],
    [{ type: 'integer' }, () => next(100)],
    [{ type: 'boolean', 'x-index': true }, () => next(2) === 1],
    [{ type: 'array', items: { type: 'string' } }, () => [text(), text()]],
    [{ type: ['string', 'integer'] }, () => pick([text(), next(9)])],
    [{ type: 'string', format: 'date-time', 'x-index': true }, () => '2020-01-01T00:00:00.5+02:00'],
    [{ type: 'object' }, () => ({ a: any() })],
    [{}, () => pick([text(), number(), true, { a: [text()] }])],
  ];
  const values = new Map<string, () => Json>();
  return {
    declaration: (): JsonObject => {
      const properties: JsonObject = {};
      for (const name of NAMES.filter(() => next(3) > 0)) {
        const [schema, value] = pick(FIELDS);
        properties[name] = schema;
        values.set(name, value);
      }
      const nullable = {
        required: ['nullable'],
        properties: { ...properties, nullable: { type: ['string', 'null'] } },
      };
      values.set('nullable', () => pick([null, '', 'x']));
      return { type: 'object', ...nullable };
    },
    record: ({ required }: JsonObject): JsonObject => {
      const record: JsonObject = {};
      for (const [name, value] of values)
        if ((required as string[]).includes(name) || next(4) > 0) record[name] = value();
      for (let count = next(3); count > 0; count--) record[`extra ${next(5)}`] = any();
      return record;
    },
  };
}
