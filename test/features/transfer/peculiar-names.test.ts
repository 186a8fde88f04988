import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';

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
  const folder = declare(t, Object.fromEntries(declarations));
  const { send, databaseUrl } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const env = { DATABASE_URL: databaseUrl, COLLECTIONS: folder };
  const files = folderOf(t);
  const fields = (value: string) => Object.fromEntries(FIELDS.map((field) => [field, value]));
  const load = (content: object, ...args: string[]) => {
    const file = join(files, 'all.json');
    writeFileSync(file, JSON.stringify(content));
    return plinth(t, ['import', file, ...args], env);
  };
  const records = [
    { id: 'a', nextId: 'b', ...fields('1') },
    { id: 'b', nextId: 'a', ...fields('2') },
  ];
  const first = await load(Object.fromEntries(COLLECTIONS.map((name) => [name, records])));
  t.equal(first.code, 0, first.err);
  const changed: Record<string, object[]> = {};
  for (const name of COLLECTIONS) {
    const [a, b] = (await send('GET', `/${name}?page=1&sort=key&order=asc`)).json.data;
    t.same([a.nextId, b.nextId], [b.id, a.id], name);
    t.equal((await send('GET', `/${name}?filter[nextId]=${a.id}`)).json.data.length, 1, 'the column has it');
    changed[name] = [a, b].map(({ _links, ...record }) => ({ ...record, ...fields('3') }));
  }
  const second = await load(changed, '--on-conflict', 'replace');
  t.equal(second.code, 0, second.err);
  for (const name of COLLECTIONS)
    t.same(
      (await send('GET', `/${name}?filter[target]=3&fields=_version`)).json.data.map(
        ({ _version }: { _version: number }) => _version,
      ),
      [2, 2],
      name,
    );
});
