import { cursorAt } from '../../src/list/keyset.js';
import { readList } from '../../src/list/read-list.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { type Plan, pageStatement, planOf, scans } from '../support/list-statement.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';
import { words } from '../support/words.js';

const ROWS = times(30_000, 60_000, 1_000_000);
const AUTHORS = ROWS / 20;

const DECLARATION = {
  'authors.json': declared({ name: { type: 'string', maxLength: 100, 'x-index': true } }, { list: 'page' }),
  'books.json': declared(
    {
      title: { type: 'string', maxLength: 200, 'x-index': true, 'x-search': true },
      isbn: { type: 'string', 'x-unique': true },
      price: { type: 'number', 'x-index': true },
      inPrint: { type: 'boolean', 'x-index': true },
      tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
      authorId: { type: 'string', format: 'uuid', 'x-references': 'authors' },
      sequelOfId: { type: 'string', format: 'uuid', 'x-references': 'books', 'x-on-delete': 'null' },
    },
    { list: 'page', index: ['updated_at'] },
    { title: 'Book', required: ['title'] },
  ),
};

/** How many rows a plan has read from tables. */
const rowsRead = (nodes: readonly Plan[]): number =>
  nodes
    .filter((node) => node['Relation Name'] !== undefined)
    .map((node) => (node['Actual Rows']! + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']!)
    .reduce((sum, rows) => sum + rows, 0);

/** The most rows that a page may read: each of its parts has up to 101, with the related records. */
const MAX_ROWS = 1500;

t.test('every operator is served by an index, over many records', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATION), MIGRATE: 'auto' });
  const resources = new Map(service.collections.map(({ resource }) => [resource.name, resource]));
  const resource = resources.get('books')!;
  const others = (name: string) => ({ resource: resources.get(name)!, access: undefined });
  const sql = sqlOf(t, service.databaseUrl);
  // Without triggers and search indexes a million rows take seconds.
  const indexes =
    await sql`select indexname, indexdef from pg_indexes where tablename = 'books' and indexdef like '%gin%'`;
  for (const { indexname } of indexes) await sql.unsafe(`drop index ${indexname}`);
  await sql.unsafe(`
    alter table books disable trigger user;
    alter table authors disable trigger user;
    insert into authors (id, version, updated_at, doc, name)
    select lpad(to_hex(n), 32, '0')::uuid, 1, timestamptz '2026-01-01Z' + n * interval '1 second', '{}', 'author ' || n from generate_series(0, ${AUTHORS - 1}) n;
    insert into books (id, version, updated_at, doc, title, isbn, price, in_print, tags, author_id, sequel_of_id)
    select lpad(to_hex(n), 32, '0')::uuid, 1, timestamptz '2026-01-01Z' + n * interval '1 second', '{}', 'book ' || n, n::text, n % 10000, n % 2 = 0, array['t' || n % 1000],
      lpad(to_hex(n % ${AUTHORS}), 32, '0')::uuid, case when n > 1000 then lpad(to_hex(n - 1000), 32, '0')::uuid end
    from generate_series(1, ${ROWS}) n;
    alter table books enable trigger user;
    alter table authors enable trigger user;
    analyze authors;
    ${indexes.map(({ indexdef }) => indexdef).join(';')};
    analyze books`);
  await sql`set jit = off`;
  await sql`set plan_cache_mode = force_custom_plan`;
  const plan = (query: string, of = resource) =>
    planOf(sql, pageStatement(of, query, { lists: 'numbered', others }));
  for (const query of [
    ...words(`
    filter[price][eq]=77 filter[price][lt]=3 filter[price][lte]=3 filter[price][gt]=9990
    filter[price][gte]=9990&filter[price][lt]=9995 filter[price][in]=1,2,3 filter[isbn]=77
    filter[isbn][in]=77,78 filter[tags][has]=t7 filter[price][null]=true
    filter[price]=77&filter[tags][has]=t7 filter[price][between]=3,5 filter[tags][any]=t7,t8
    filter[id]=00000000-0000-0000-0000-00000000004d filter[created_at][lt]=1970-01-01
    filter[updated_at][lt]=2026-01-01T00:00:05Z filter[created_at][between]=1960-01-01,1969-01-01
    filter[created_at]=2026-01-01 filter[or][0][price]=77&filter[or][1][isbn]=5
    filter[or][0][and][0][price]=77&filter[or][1][tags][has]=t7 filter[sequelOf][isbn]=77
    filter[sequelOf][sequelOf][isbn]=77 filter[books][some][isbn]=1077
    filter[books][some][books][some][isbn]=2077 filter[author][books][some][isbn]=77
    filter[author][books][some][sequelOf][author][books][some][isbn]=77
  `),
    'filter[title]=book 77',
    'filter[title][prefix]=book 777',
    'filter[title][contains]=k 7777',
    'filter[author][name]=author 77',
    'filter[author][name][prefix]=author 77&filter[price][lt]=100',
    'filter[sequelOf][sequelOf][author][name]=author 77',
    'filter[author][books][some][sequelOf][author][name]=author 77',
  ])
    t.notOk(scans(await plan(query)), query);
  const authors = resources.get('authors')!;
  for (const query of ['filter[books][some][isbn]=77', 'filter[books][some][sequelOf][isbn]=77'])
    t.notOk(scans(await plan(query, authors)), query);
  // Most authors match, and the page has the first of these.
  for (const query of [
    'filter[books][none][isbn]=77',
    'filter[not][books][some][price]=77',
    'filter[books][some]=true',
  ])
    t.notOk(scans(await plan(`${query}&count=none`, authors)), query);
  const id = `${'0'.repeat(27)}7a120`.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const cursorOf = (sort: string, values: readonly (string | null)[]): string => {
    const { part } = readList(new URLSearchParams({ sort }), { resource }, { lists: 'keyset', others });
    if (part.kind !== 'keyset') throw new Error('its pages are not between cursors');
    return cursorAt(part.identity, JSON.stringify([id, ...values]));
  };
  for (const [sort, ...values] of [
    ['created_at'],
    ['-created_at'],
    ['title', 'book 5'],
    ['-title', 'book 5'],
    ['price', '77'],
    ['-price', '77'],
    ['price', null],
    ['-price', null],
    ['-price,title', '77', 'book 5'],
    ['price,-inPrint', '77', 'true'],
    ['price,-created_at', '77'],
  ] as const) {
    const cursor = cursorOf(sort, values);
    for (const side of ['after', 'before']) {
      const statement = pageStatement(resource, `sort=${sort}&${side}=${cursor}`, { lists: 'keyset' });
      const plan = await planOf(sql, statement);
      t.notOk(scans(plan), `${sort} ${side}`);
      // The pages of several alternatives are sorted, and never more.
      const sorted = plan.filter((node) => node['Node Type'] === 'Sort').map((node) => node['Plan Rows']);
      t.ok(Math.max(0, ...sorted) <= 101 * 5, `${sort} ${side}: sorts ${sorted.join(', ')} rows`);
    }
  }
  // A page of each order reads records up to its end, and with a cursor those of one page.
  const orders = [
    ['updated_at', '2026-01-01T00:01:17.000000Z'],
    ['isbn', '5'],
    ['authorId', `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(10)}4d`],
    ['inPrint', 'true'],
    ['author.name', 'author 77'],
    ['author.name', null],
    ['author.created_at', `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(10)}4d`],
    ['sequelOf.price', '77'],
    ['sequelOf.isbn', '77'],
    ['sequelOf.updated_at', '2026-01-01T00:01:17.000000Z'],
  ] as const;
  for (const [name, value] of orders)
    for (const sort of [name, `-${name}`, ...(name === 'inPrint' ? [] : [`-${name},created_at`])]) {
      const read = async (query: string, lists: 'numbered' | 'keyset') => {
        const statement = pageStatement(resource, query, { lists, others });
        const rows = rowsRead(await planOf(sql, statement, 'analyze, format json'));
        t.ok(rows <= MAX_ROWS, `${lists} ${query}: reads ${rows} rows`);
      };
      await read(`sort=${sort}&page=3&count=none`, 'numbered');
      const cursor = cursorOf(sort, [value]);
      for (const side of ['after', 'before']) await read(`sort=${sort}&${side}=${cursor}`, 'keyset');
    }
  // Lists that are not filtered have one plan for all cursors and limits.
  await sql`set plan_cache_mode = force_generic_plan`;
  await sql`set enable_seqscan = off`;
  for (const query of ['', 'sort=-created_at', 'count=exact']) {
    const { text, args } = pageStatement(resource, query, { lists: 'keyset' });
    await sql.unsafe(`prepare page as ${text}`);
    const plan = await planOf(sql, { text: `execute page (${args[0]})`, args: [] });
    const scans = plan.filter((node) => node['Relation Name'] === 'books').map((node) => node['Node Type']);
    t.same(scans, ['Index Scan'], query);
    const sorted = plan.filter((node) => node['Node Type'] === 'Sort').map((node) => node['Plan Rows']);
    t.ok(Math.max(0, ...sorted) <= 101, `${query}: sorts ${sorted.join(', ')} rows`);
    await sql.unsafe('deallocate page');
  }
  await sql`reset enable_seqscan`;
  await sql`set plan_cache_mode = force_custom_plan`;
  // The next filters match most records: the page ends after its twenty, and only the total reads them all. Nothing but the page is sorted.
  for (const query of words(`
    filter[price][ne]=77 filter[price][nin]=77,78 filter[not][price]=77 filter[_version]=1
    filter[_version][nin]=2,3 filter[books][every][price][gte]=0 filter[inPrint]=true
    filter[price][null]=false sort=-price,title sort=price
  `)) {
    const sorts = (await plan(`${query}&count=none`)).filter((node) => node['Node Type'] === 'Sort');
    t.ok(Math.max(0, ...sorts.map((node) => node['Plan Rows'])) <= 20, query);
  }
});
