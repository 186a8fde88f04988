import t from '../../support/test.js';
import { importing } from './imports.js';

/** Names of collections that PostgreSQL has for types, or that statements of imports use for themselves. */
const COLLECTIONS = ['date', 'json', 'ready', 'written', 'deferred', 'referred', 'current', 'key'];
/** Names of fields that tables of imports have as columns. */
const FIELDS = ['key', 'collection', 'field', 'target', 'place', 'position', 'old', 'pair', 'record'];

t.test('records of any collection are stored, refer forward, and are replaced', async (t) => {
  const text = { type: 'string', 'x-index': true, maxLength: 100 };
  const declarations = COLLECTIONS.map((name) => [
    `${name}.json`,
    {
      type: 'object',
      properties: {
        ...Object.fromEntries(FIELDS.map((field) => [field, text])),
        nextId: { type: 'string', 'x-references': name, 'x-on-delete': 'null' },
      },
    },
  ]);
  const { all, put, ...world } = await importing(t, Object.fromEntries(declarations));
  const fields = (value: string) => Object.fromEntries(FIELDS.map((field) => [field, value]));
  const load = (content: object, ...args: string[]) => world.load([put('all.json', content), ...args]);
  const records = [
    { id: 'a', nextId: 'b', ...fields('1') },
    { id: 'b', nextId: 'a', ...fields('2') },
  ];
  const first = await load(Object.fromEntries(COLLECTIONS.map((name) => [name, records])));
  t.equal(first.code, 0, first.err);
  const changed: Record<string, object[]> = {};
  for (const name of COLLECTIONS) {
    const [a, b] = (await all(`/${name}?page=1&sort=key&order=asc`)).data;
    t.same([a.nextId, b.nextId], [b.id, a.id], name);
    t.equal((await all(`/${name}?filter[nextId]=${a.id}`)).data.length, 1, 'the column has it');
    changed[name] = [a, b].map(({ _links, ...record }) => ({ ...record, ...fields('3') }));
  }
  const second = await load(changed, '--on-conflict', 'replace');
  t.equal(second.code, 0, second.err);
  for (const name of COLLECTIONS) {
    const { data } = await all(`/${name}?filter[target]=3&fields=_version`);
    t.match(data, [{ _version: 2 }, { _version: 2 }], name);
  }
});
