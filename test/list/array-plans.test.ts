import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { pageStatement, planOf, scans } from '../support/list-statement.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';

const ROWS = times(20_000, 60_000, 1_000_000);
const READERS = ROWS / 20;
const INDEX = { type: 'string', maxLength: 100, 'x-index': true };

const DECLARATIONS = {
  'readers.json': { type: 'object', properties: { name: INDEX }, 'x-collection': { list: 'page' } },
  'books.json': declared(
    {
      title: INDEX,
      readerIds: { type: 'array', maxItems: 20, items: { type: 'string', 'x-references': 'readers' } },
    },
    { list: 'page' },
  ),
};

t.test('conditions over an array of references are served by indexes, in both directions', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const resources = new Map(service.collections.map(({ resource }) => [resource.name, resource]));
  const others = (name: string) => ({ resource: resources.get(name)!, access: undefined });
  const sql = sqlOf(t, service.databaseUrl);
  const { links } = resources.get('books')!.columns.get('readerIds')!;
  const id = (n: string) => `lpad(to_hex(${n}), 32, '0')::uuid`;
  await sql.unsafe(`
    insert into readers (id, updated_at, doc, name)
    select ${id('n')}, now(), '{}', 'reader ' || n from generate_series(0, ${READERS - 1}) n;
    insert into books (id, updated_at, doc, title, reader_ids)
    select ${id('n')}, now(), '{}', 'book ' || n, array[${id(`n % ${READERS}`)}, ${id(`(n * 7) % ${READERS}`)}]
    from generate_series(1, ${ROWS}) n`);
  // VACUUM empties the list of entries that an index of arrays has still to sort.
  for (const table of ['readers', 'books', links]) await sql.unsafe(`vacuum analyze ${table}`);
  const reader = '00000000-0000-0000-0000-00000000004d';
  await sql`set jit = off`;
  await sql`set plan_cache_mode = force_custom_plan`;
  for (const [name, query, index] of [
    ['books', `filter[readerIds][has]=${reader}`, /reader_ids/],
    ['books', `filter[readerIds][any]=${reader}`, /reader_ids/],
    ['books', 'filter[readers][some][name]=reader 77', /\$refs/],
    ['books', 'filter[readers][some][name]=reader 77&filter[title][prefix]=book 7', /\$refs/],
    ['readers', 'filter[books][some][title]=book 77', /\$refs/],
  ] as const) {
    const nodes = await planOf(
      sql,
      pageStatement(resources.get(name)!, query, { lists: 'numbered', others }),
    );
    t.notOk(scans(nodes), query);
    t.match(nodes.map((node) => node['Index Name'] ?? '').join(' '), index, query);
  }
});
