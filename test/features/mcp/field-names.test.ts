import type { JsonObject } from '../../../src/json.js';
import { declare } from '../../support/collections.js';
import { NAMES, serviceWithThings } from '../../support/peculiar-fields.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { connect } from './session.js';

t.test('the tools of agents take the names as they are', async (t) => {
  const service = await serviceWithThings(t, { MCP: 'on' });
  const { call } = await connect(t, service.url);
  for (const name of NAMES) {
    const { isError, value } = await call('things_list', {
      filter: { [name]: { in: ['v1', 'v2'] } },
      sort: [name, 'created_at'],
      fields: [name],
    });
    t.notOk(isError, JSON.stringify(value));
    t.same(
      value.data?.map((each: Record<string, string>) => each[name]),
      ['v1', 'v2'],
      name,
    );
    const one = await call('things_get', { id: value.data[0].id, fields: [name] });
    t.equal(one.value.record[name], 'v1', name);
  }
});

t.test('an array of references has operators, and conditions on its records', async (t) => {
  const ids = { type: 'array', maxItems: 9, items: { type: 'string', 'x-references': 'people' } };
  const collection = (properties: object) => ({
    type: 'object',
    properties,
    'x-collection': { list: 'page' },
  });
  const service = await testService(t, {
    MCP: 'on',
    MIGRATE: 'auto',
    COLLECTIONS: declare(t, {
      'people.json': collection({ name: { type: 'string', 'x-index': true } }),
      // One is called as its relation.
      'tasks.json': collection({ watchers: ids, reviewerIds: ids }),
    }),
  });
  const { call } = await connect(t, service.url);
  const created = await call('people_create', { record: { name: 'Ann' } });
  const { id } = (created.value.record ?? created.value) as JsonObject;
  await call('tasks_create', { record: { watchers: [id!], reviewerIds: [id!] } });
  await call('tasks_create', { record: {} });
  for (const filter of [
    { watchers: { has: id } },
    { watchers: { some: { name: 'Ann' } } },
    { watchers: { any: [id], some: true } },
    { reviewerIds: { has: id } },
    { reviewers: { some: { name: 'Ann' } } },
    { not: { reviewers: { none: true } } },
  ]) {
    const { isError, value } = await call('tasks_list', { filter, include: ['watchers'] } as JsonObject);
    t.notOk(isError, JSON.stringify(value));
    t.same(
      value.data?.map((task: JsonObject) => task.watchers),
      [[id]],
      JSON.stringify(filter),
    );
    t.match(value.data?.[0]._included.watchers, [{ id }]);
  }
});
