import { cursorAt } from '../../src/list/keyset.js';
import { readList } from '../../src/list/read-list.js';
import { declare } from '../support/collections.js';
import { pageStatement } from '../support/list-statement.js';
import { testService } from '../support/service.js';
import { openSql } from '../support/sql.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';

const ROWS = times(100_000, 300_000, 1_000_000);

const DECLARATION = {
  'books.json': {
    title: 'Book',
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', maxLength: 200, 'x-index': true, 'x-search': true },
      isbn: { type: 'string', 'x-unique': true },
      price: { type: 'number', 'x-index': true },
      inPrint: { type: 'boolean', 'x-index': true },
      tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    },
    'x-collection': { list: 'page' },
  },
};

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Plan Rows': number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

t.test('every operator is served by an index, over many records', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATION), MIGRATE: 'auto' });
  const { resource } = service.collections.find((each) => each.resource.name === 'books')!;
  const sql = openSql(service.databaseUrl, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
  // Without triggers and search indexes a million rows take seconds.
  const indexes =
    await sql`select indexname, indexdef from pg_indexes where tablename = 'books' and indexdef like '%gin%'`;
  for (const { indexname } of indexes) await sql.unsafe(`drop index ${indexname}`);
  await sql.unsafe(`
    alter table books disable trigger user;
    insert into books (id, version, updated_at, doc, title, isbn, price, in_print, tags)
    select lpad(to_hex(n), 32, '0')::uuid, 1, now(), '{}', 'book ' || n, n::text, n % 10000, n % 2 = 0, array['t' || n % 1000]
    from generate_series(1, ${ROWS}) n;
    alter table books enable trigger user;
    ${indexes.map(({ indexdef }) => indexdef).join(';')};
    analyze books`);
  await sql`set jit = off`;
  await sql`set plan_cache_mode = force_custom_plan`;
  const plan = async (query: string): Promise<Plan[]> => {
    const { text, args } = pageStatement(resource, query);
    const [row] = await sql.unsafe(`explain (format json) ${text}`, [...args]);
    return nodesOf((row!['QUERY PLAN'] as { Plan: Plan }[])[0]!.Plan);
  };
  for (const query of [
    'filter[title]=book 77',
    'filter[price][eq]=77',
    'filter[price][lt]=3',
    'filter[price][lte]=3',
    'filter[price][gt]=9990',
    'filter[price][gte]=9990&filter[price][lt]=9995',
    'filter[price][in]=1,2,3',
    'filter[isbn]=77',
    'filter[isbn][in]=77,78',
    'filter[title][prefix]=book 777',
    'filter[title][contains]=k 7777',
    'filter[tags][has]=t7',
    'filter[price][null]=true',
    'filter[price]=77&filter[tags][has]=t7',
  ])
    t.notOk(
      (await plan(query)).some((node) => node['Node Type'] === 'Seq Scan'),
      query,
    );
  const keysetPlan = async (query: string): Promise<Plan[]> => {
    const { text, args } = pageStatement(resource, query, { lists: 'keyset' });
    const [row] = await sql.unsafe(`explain (format json) ${text}`, [...args]);
    return nodesOf((row!['QUERY PLAN'] as { Plan: Plan }[])[0]!.Plan);
  };
  const id = `${'0'.repeat(27)}7a120`.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
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
    const { part } = readList(new URLSearchParams({ sort }), resource, { lists: 'keyset' });
    if (part.kind !== 'keyset') throw new Error('its pages are not between cursors');
    const cursor = cursorAt(part.identity, JSON.stringify([id, ...values]));
    for (const side of ['after', 'before']) {
      const plan = await keysetPlan(`sort=${sort}&${side}=${cursor}`);
      t.notOk(
        plan.some((node) => node['Node Type'] === 'Seq Scan'),
        `${sort} ${side}`,
      );
      // The pages of several alternatives are sorted, and never more.
      const sorted = plan.filter((node) => node['Node Type'] === 'Sort').map((node) => node['Plan Rows']);
      t.ok(Math.max(0, ...sorted) <= 101 * 5, `${sort} ${side}: sorts ${sorted.join(', ')} rows`);
    }
  }
  // Lists that are not filtered have one plan for all cursors and limits.
  await sql`set plan_cache_mode = force_generic_plan`;
  await sql`set enable_seqscan = off`;
  for (const query of ['', 'sort=-created_at', 'count=exact']) {
    const { text, args } = pageStatement(resource, query, { lists: 'keyset' });
    await sql.unsafe(`prepare page as ${text}`);
    const [row] = await sql.unsafe(`explain (format json) execute page (${args[0]})`);
    const plan = nodesOf((row!['QUERY PLAN'] as { Plan: Plan }[])[0]!.Plan);
    const scans = plan.filter((node) => node['Relation Name'] === 'books').map((node) => node['Node Type']);
    t.same(scans, ['Index Scan'], query);
    const sorted = plan.filter((node) => node['Node Type'] === 'Sort').map((node) => node['Plan Rows']);
    t.ok(Math.max(0, ...sorted) <= 101, `${query}: sorts ${sorted.join(', ')} rows`);
    await sql.unsafe('deallocate page');
  }
  await sql`reset enable_seqscan`;
  await sql`set plan_cache_mode = force_custom_plan`;
  // The next filters match most records: the page ends after its twenty, and only the total reads them all. Nothing but the page is sorted.
  for (const query of [
    'filter[price][ne]=77',
    'filter[inPrint]=true',
    'filter[price][null]=false',
    'sort=-price,title',
    'sort=price',
  ]) {
    const sorts = (await plan(`${query}&count=none`)).filter((node) => node['Node Type'] === 'Sort');
    t.same(
      sorts.map((node) => node['Plan Rows']).filter((rows) => rows > 20),
      [],
      query,
    );
  }
});
