import { readDeclarations } from '../../../src/declarations/read-declarations.js';
import { declare } from '../../support/collections.js';
import { type TestService, testService } from '../../support/service.js';
import type { Test } from '../../support/test.js';
import { PageVisitor } from './visitor.js';

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
    place: { type: 'object', additionalProperties: { type: 'string' } },
    site: {
      type: 'object',
      required: ['street'],
      properties: {
        street: { type: 'string', minLength: 1 },
        geo: { type: 'object', properties: { lat: { type: 'number' }, lon: { type: 'number' } } },
      },
    },
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

const TRACKER = {
  'projects.json': {
    title: 'Project',
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', maxLength: 100, 'x-index': true, 'x-search': true } },
    'x-collection': { list: 'page', group: 'Tracker' },
  },
  'issues.json': {
    title: 'Issue',
    type: 'object',
    required: ['title', 'projectId'],
    properties: {
      title: { type: 'string', minLength: 1, maxLength: 100, 'x-index': true, 'x-search': true },
      status: { type: 'string', enum: ['open', 'review', 'closed'], default: 'open', 'x-index': true },
      projectId: { type: 'string', 'x-references': 'projects' },
      watcherIds: {
        type: 'array',
        maxItems: 9,
        items: { type: 'string', 'x-references': 'users', 'x-on-delete': 'remove' },
      },
      dueOn: { type: 'string', format: 'date', 'x-index': true },
      reportedAt: { type: 'string', format: 'date-time', 'x-index': true },
      priority: { type: 'integer', minimum: 1, maximum: 5, 'x-index': true },
      postCode: { type: ['integer', 'string'] },
    },
    'x-collection': { list: 'page', history: true, group: 'Tracker' },
  },
  'notes.json': {
    title: 'Note',
    type: 'object',
    required: ['issueId'],
    properties: {
      issueId: { type: 'string', 'x-references': 'issues', 'x-on-delete': 'cascade' },
      text: { type: 'string' },
    },
    'x-collection': { display: 'text', nested: true },
  },
};

/** A service with two projects, a user and an issue, and a browser. */
export async function tracker(t: Test) {
  const service = await testService(t, { COLLECTIONS: declare(t, TRACKER), MIGRATE: 'auto' });
  const make = async (path: string, body: object) => (await service.send('POST', path, { body })).json;
  const user = await make('/users', { email: 'ada@example.org', name: 'Ada' });
  const project = await make('/projects', { name: 'Checkout redesign' });
  const other = await make('/projects', { name: 'Blog <b>' });
  const issue = await make('/issues', { title: 'Labels', projectId: project.id, watcherIds: [user.id] });
  return { service, make, user, project, other, issue, visitor: new PageVisitor(service) };
}
