import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { pageStatement, planOf, scans } from '../support/list-statement.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';

const ROWS = times(100_000, 100_000, 1_000_000);

const DECLARATION = {
  'notes.json': declared(
    {
      text: { type: 'string', 'x-search': 'words' },
      code: { type: 'string', 'x-search': true },
      price: { type: 'number', 'x-index': true },
    },
    { list: 'page', language: 'english' },
  ),
  'plains.json': { type: 'object', properties: { text: { type: 'string', 'x-search': 'words' } } },
};

t.test('words are found by their index, over many records', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATION), MIGRATE: 'auto' });
  const resources = new Map(service.collections.map(({ resource }) => [resource.name, resource]));
  const sql = sqlOf(t, service.databaseUrl);
  const indexes =
    await sql`select indexname, indexdef from pg_indexes where tablename in ('notes', 'plains') and indexdef like '%gin%'`;
  t.equal(indexes.length, 4);
  for (const { indexname } of indexes) await sql.unsafe(`drop index ${indexname}`);
  await sql.unsafe(`
    alter table notes disable trigger user;
    alter table plains disable trigger user;
    insert into notes (id, version, updated_at, doc, text, code, price)
    select lpad(to_hex(n), 32, '0')::uuid, 1, now(), '{}', 'common words of note' || n % 1000 || ' number' || n, 'code ' || n, n % 100
    from generate_series(1, ${ROWS}) n;
    insert into plains (id, version, updated_at, doc, text) select id, version, updated_at, doc, text from notes;
    alter table notes enable trigger user;
    alter table plains enable trigger user;
    ${indexes.map(({ indexdef }) => indexdef).join(';')};
    analyze notes;
    analyze plains`);
  await sql`set jit = off`;
  await sql`set plan_cache_mode = force_custom_plan`;
  for (const search of [
    'note77',
    'number777*',
    '"words of note77"',
    'note77 -number1077',
    'note77 number1077',
    'common note7*',
  ])
    for (const [of, more] of [
      ['notes', ''],
      ['plains', ''],
      ['notes', '&filter[price]=77'],
      ['notes', '&sort=price'],
      ['notes', '&sort=relevance'],
      ['plains', '&sort=relevance'],
    ] as const)
      for (const lists of ['numbered', 'keyset'] as const) {
        const query = `search=${encodeURIComponent(search)}&limit=20${more}`;
        const nodes = await planOf(sql, pageStatement(resources.get(of)!, query, { lists }));
        const label = `${of} ${lists} ${query}`;
        t.notOk(scans(nodes), label);
        // A page between cursors of what a tenth of the records have is found along the index of the order.
        if (lists === 'keyset' && search.startsWith('common') && !more.includes('relevance')) continue;
        t.match(nodes.map((node) => node['Index Name']).join(' '), `${of}_words_`, label);
      }
  const { json } = await service.send('GET', '/notes?search=note77&sort=relevance&limit=1');
  t.equal(json.meta.total, ROWS / 1000);
});

t.test('words are found by their index in a small table, too: each text could be long', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATION), MIGRATE: 'auto' });
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe(`insert into plains (id, version, updated_at, doc, text)
    select lpad(to_hex(n), 32, '0')::uuid, 1, now(), '{}', 'small text ' || n from generate_series(1, 15) n;
    analyze plains`);
  await sql`set plan_cache_mode = force_custom_plan`;
  const plains = service.collections.find(({ resource }) => resource.name === 'plains')!.resource;
  for (const search of ['fire', '"fire alarm"', 'fir*', 'small -text']) {
    const nodes = await planOf(sql, pageStatement(plains, `search=${encodeURIComponent(search)}&limit=1`));
    t.ok(
      nodes.some((node) => node['Index Name']?.startsWith('plains_words_')),
      search,
    );
  }
});
