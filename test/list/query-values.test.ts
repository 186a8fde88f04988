import type { Json } from '../../src/json.js';
import { parametersOfBody } from '../../src/list/body-values.js';
import { readList } from '../../src/list/read-list.js';
import { items, posts } from '../support/collections.js';
import t from '../support/test.js';

t.test('values of a body are read as they are, not as texts', async (t) => {
  const list = (body: Json) =>
    readList(parametersOfBody(body, items), { resource: items }, { lists: 'numbered', isOfBody: true });
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
  const named = { ...items, sorts: new Map([...items.sorts, ['-weight', items.sorts.get('price')!]]) };
  const sorted = parametersOfBody({ sort: ['-weight', '--weight', '-price'] }, named).get('sort');
  t.equal(sorted, '\\-weight,-\\-weight,-price', 'a field whose name begins with a minus');
});

t.test('errors name the place in the query', async (t) => {
  const errorOf = (body: Json) => {
    try {
      return readList(parametersOfBody(body, posts), { resource: posts }, { lists: 'keyset' });
    } catch (error) {
      return (error as { more: { details: unknown } }).more.details;
    }
  };
  const nested = (levels: number): Json => (levels === 0 ? 1 : { a: nested(levels - 1) });
  t.match(errorOf({ filter: 'name' }), [{ path: '/filter', keyword: 'type' }]);
  t.match(errorOf({ filter: nested(25) }), [{ path: `/filter${'/a'.repeat(25)}`, keyword: 'maxItems' }]);
  t.match(errorOf({ fields: ['x'.repeat(65_537)] }), [{ path: '/fields', keyword: 'maxLength' }]);
  t.match(errorOf({ filter: { id: { gt: [1] } } }), [{ path: '/filter/id/gt' }]);
  t.match(errorOf({ filter: { id: { in: [{}] } } }), [{ path: '/filter/id/in' }]);
  t.match(errorOf({ fields: [{ author: 'name' }] }), [{ path: '/fields/author' }]);
  t.match(errorOf({ filter: { nothing: { eq: 1 } } }), { parameter: 'filter[nothing]' });
  t.match(errorOf({ filter: { or: [{ nothing: 1 }] } }), { parameter: 'filter[or][0][nothing]' });
  t.match(errorOf({ limit: 1.5 }), { parameter: 'limit' });
});
