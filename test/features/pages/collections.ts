import { readDeclarations } from '../../../src/declarations/read-declarations.js';
import { declare } from '../../support/collections.js';
import { type TestService, testService } from '../../support/service.js';
import type { Test } from '../../support/test.js';

const TASK = {
  title: 'Task',
  description: 'Things to do, with every kind of field.',
  type: 'object',
  required: ['title', 'state'],
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 120, 'x-index': true, 'x-search': true },
    state: { type: 'string', enum: ['open', 'done'], 'x-index': true },
    due: { type: 'string', format: 'date', 'x-index': true },
    starts: { type: 'string', format: 'date-time', 'x-index': true },
    effort: { type: 'number', minimum: 0, maximum: 100, 'x-index': true },
    count: { type: 'integer', minimum: 0 },
    urgent: { type: 'boolean', 'x-index': true },
    code: { type: 'string', maxLength: 20, pattern: '^[A-Z]{2}-[0-9]+$', 'x-unique': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    kinds: { type: 'array', items: { type: 'string', enum: ['bug', 'idea'] } },
    place: { type: 'object', properties: { city: { type: 'string' } } },
    notes: { type: 'string', maxLength: 5000 },
    itemId: { type: 'string', 'x-references': 'items', 'x-on-delete': 'null' },
  },
  'x-collection': { list: 'page', sort: '-created_at' },
};

/** A service with the built-in collections and one with every kind of field, `tasks`. */
export async function serviceWithTasks(
  t: Test,
  env: Record<string, string> = {},
  overrides: Record<string, unknown> = {},
): Promise<TestService> {
  const builtIn = readDeclarations(undefined).collections.map(({ name, schema }): [string, unknown] => [
    `${name}.json`,
    schema,
  ]);
  const files = Object.fromEntries([...builtIn, ['tasks.json', { ...TASK, ...overrides }]]);
  return testService(t, { COLLECTIONS: declare(t, files), MIGRATE: 'auto', ...env });
}
