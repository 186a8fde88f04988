import type { Json } from '../../src/json.js';
import { valuesOfBody } from '../../src/list/body-values.js';
import { valuesOfAddress } from '../../src/list/query-names.js';
import { hasGroups, readGroups } from '../../src/list/read-groups.js';
import { readList } from '../../src/list/read-list.js';
import { items, posts } from '../support/collections.js';
import t from '../support/test.js';

const BODIES: readonly Json[] = [
  {},
  { filter: { price: 10 } },
  { filter: { price: { gte: 1.5, lt: 1e21 } } },
  { filter: { price: { in: [1, '2', 3] }, name: { in: ['a,b'] } } },
  { filter: { name: 'true', id: { null: false } } },
  { filter: { or: [{ price: 1 }, { not: { name: { contains: '1' } } }] } },
  { filter: { name: { in: 'a,b' } }, 'filter[price][gt]': 5 },
  { sort: ['-price', 'name'], limit: 7 },
  { sort: '-price,name', limit: '7', count: 'none' },
  { sort: [], page: 2.9, limit: 5 },
  { fields: ['name', 'price'], search: 5 },
  { fields: [], include: [] },
  { group: ['name'], aggregate: ['sum(price)', 'count'], sort: ['-count'], limit: 3 },
];

/** In an address, invalid values of a tolerant list are the default. */
const resource = { ...items, hasTolerantLists: false };

t.test('a query in a body and its address are read alike', async (t) => {
  for (const body of BODIES) {
    const given = valuesOfBody(body, resource);
    const address = valuesOfAddress(given.address());
    t.same(address.names, given.names, JSON.stringify(body));
    for (const lists of ['numbered', 'keyset'] as const) {
      const read = (values: typeof given) =>
        hasGroups(values)
          ? readGroups(values, { resource }, { lists })
          : readList(values, { resource }, { lists });
      const outcome = (values: typeof given) => {
        try {
          return read(values);
        } catch (error) {
          return String(error);
        }
      };
      t.same(outcome(given), outcome(address), JSON.stringify(body));
    }
  }
});

t.test('values of a body are read as they are, not as texts', async (t) => {
  const list = (body: Json) =>
    readList(valuesOfBody(body, items), { resource: items }, { lists: 'numbered' });
  const valuesOf = (filter: Json) => {
    const [condition] = list({ filter }).selection.conditions;
    return condition?.kind === 'comparison' ? condition.values : [];
  };
  t.same(valuesOf({ name: { in: ['a,b'] } }), ['a,b'], 'a text in a list is one value');
  t.same(valuesOf({ name: { in: 'a,b' } }), ['a', 'b'], 'a text alone has commas between its values');
  t.same(valuesOf({ price: 1e21 }), ['1e+21']);
  t.throws(() => list({ filter: { price: { between: ['1,2'] } } }), /two values/);
  t.throws(() => list({ filter: { price: true } }), /must be a number/);
  t.throws(() => list({ page: 1e21 }), /must be an integer from 1/);
  t.same(list({ sort: ['-price'] }).sorts, [{ field: 'price', direction: 'desc' }]);
});

t.test('errors name the place in the query', async (t) => {
  const errorOf = (body: Json) => {
    try {
      return readList(valuesOfBody(body, posts), { resource: posts }, { lists: 'keyset' });
    } catch (error) {
      return (error as { more: { details: unknown } }).more.details;
    }
  };
  t.match(errorOf({ filter: { id: { gt: [1] } } }), [{ path: '/filter/id/gt' }]);
  t.match(errorOf({ filter: { id: { in: [{}] } } }), [{ path: '/filter/id/in' }]);
  t.match(errorOf({ fields: [{ author: 'name' }] }), [{ path: '/fields/author' }]);
  t.match(errorOf({ filter: { nothing: { eq: 1 } } }), { parameter: 'filter[nothing]' });
  t.match(errorOf({ filter: { or: [{ nothing: 1 }] } }), { parameter: 'filter[or][0][nothing]' });
  t.match(errorOf({ limit: 1.5 }), { parameter: 'limit' });
});
