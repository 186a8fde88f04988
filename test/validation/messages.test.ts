import type { Failure } from '../../src/errors/problem.js';
import { createAjv, loadFormats } from '../../src/validation/ajv.js';
import { failureOf } from '../../src/validation/failure-messages.js';
import { compileCheck } from '../../src/validation/validation.js';
import t from '../support/test.js';

/** Schemas of a field that a value violates, with the message of the failure. */
const ROWS: readonly [schema: object | false, value: unknown, message: string][] = [
  [{ type: 'string' }, 1, 'must be of type string'],
  [{ type: ['string', 'null'] }, 1, 'must be of type string or null'],
  [{ type: 'string', minLength: 1 }, '', 'must not be empty'],
  [{ type: 'string', minLength: 8 }, 'a', 'must have at least 8 characters'],
  [{ type: 'string', maxLength: 1 }, 'ab', 'must have at most 1 character'],
  [{ type: 'array', minItems: 2 }, [1], 'must have at least 2 items'],
  [{ type: 'array', maxItems: 1 }, [1, 2], 'must have at most 1 item'],
  [{ type: 'array', uniqueItems: true }, [1, 1], 'must not repeat an item: those at 0 and 1 are equal'],
  [{ type: 'array', contains: { const: 1 } }, [2], 'must have at least 1 matching item'],
  [{ type: 'object', minProperties: 1 }, {}, 'must have at least 1 member'],
  [{ type: 'object', maxProperties: 0 }, { a: 1 }, 'must have at most 0 members'],
  [{ type: 'number', minimum: 3 }, 1, 'must be at least 3'],
  [{ type: 'number', maximum: 3 }, 4, 'must be at most 3'],
  [{ type: 'number', exclusiveMinimum: 3 }, 3, 'must be more than 3'],
  [{ type: 'number', exclusiveMaximum: 3 }, 3, 'must be less than 3'],
  [{ type: 'number', multipleOf: 0.5 }, 0.3, 'must be a multiple of 0.5'],
  [{ type: 'string', pattern: '^a$' }, 'b', 'must match the pattern ^a$'],
  [{ type: 'string', format: 'email' }, 'b', 'must be an email address'],
  [{ type: 'string', format: 'date' }, 'b', 'must be a date, like 2026-01-31'],
  [{ enum: ['a', 1] }, 'b', 'must be one of "a", 1'],
  [{ const: 'a' }, 'b', 'must be "a"'],
  [{ anyOf: [{ const: 1 }] }, 2, 'must match one of the alternatives'],
  [{ oneOf: [{ const: 1 }] }, 2, 'must match exactly one of the alternatives'],
  [{ not: {} }, 2, 'must not have this value'],
  [{ type: 'object', required: ['b'] }, {}, 'is required'],
  [{ type: 'object', dependencies: { a: ['b'] } }, { a: 1 }, 'is required with a'],
  [{ type: 'array', prefixItems: [{}], items: false }, [1, 2], 'must have at most 1 item'],
  [{ type: 'array', items: false }, [1], 'must be absent'],
  [{ type: 'array', unevaluatedItems: false }, [1], 'has an item that is not allowed'],
  [{ type: 'array', contains: {}, maxContains: 1 }, [1, 2], 'must have 1 to 1 matching items'],
  [{ type: 'object', propertyNames: { maxLength: 1 } }, { ab: 1 }, 'its name must have at most 1 character'],
  [{ type: 'object', propertyNames: { maxLength: 1 } }, { ab: 1 }, 'has a name that is not valid'],
  [{ type: 'object', unevaluatedProperties: false }, { a: 1 }, 'is not a known field'],
  [false, 1, 'must be absent'],
  [{ type: 'object', dependentRequired: { a: ['b'] } }, { a: 1 }, 'is required with a'],
  [
    { type: 'object', additionalProperties: false, properties: { a: {} } },
    { b: 1 },
    'is not a known field: there are a',
  ],
];

t.test('each keyword has a message of the service, without the words of the validator', (t) => {
  for (const [schema, value, message] of ROWS) {
    const check = compileCheck({
      schema: { type: 'object', required: [], properties: { field: schema as object } },
      normalize: {},
    });
    const messages = messagesOf(() => check({ field: value } as never));
    t.ok(messages.includes(message), `${message}: ${messages}`);
    for (const each of messages) t.notMatch(each, /NOT|fewer|<=|>=|##|required property/);
  }
  t.end();
});

function messagesOf(check: () => unknown): string[] {
  return failuresOf(check).map(({ message }) => message);
}

function failuresOf(check: () => unknown): readonly Failure[] {
  try {
    check();
  } catch (error) {
    return (error as { more: { details: readonly Failure[] } }).more.details;
  }
  return [];
}

t.test('a name that is not valid has the path of its member', (t) => {
  const field = { type: 'object', propertyNames: { pattern: '^[a-z]$' } };
  const check = compileCheck({
    schema: { type: 'object', required: [], properties: { field } as never },
    normalize: {},
  });
  t.same(
    failuresOf(() => check({ field: { 'A/b': 1 } })).map(({ path, keyword }) => [path, keyword]),
    [
      ['/field/A~1b', 'pattern'],
      ['/field/A~1b', 'propertyNames'],
    ],
  );
  t.end();
});

/** Formats that each text has. */
const ANY_TEXT = new Set(['password', 'binary']);

t.test('each format has a description', async (t) => {
  await loadFormats();
  const { formats } = createAjv();
  for (const [format, definition] of Object.entries(formats)) {
    if (typeof definition === 'object' && 'type' in definition && definition.type === 'number') continue;
    const error = { keyword: 'format', params: { format }, instancePath: '', schemaPath: '' };
    if (!ANY_TEXT.has(format)) t.notMatch(failureOf(error).message, /in the format/, format);
  }
});
