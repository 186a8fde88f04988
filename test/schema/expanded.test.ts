import { readFileSync } from 'node:fs';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { freshService, undeclaredDatabase } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const FIXTURE = new URL('../../../test/fixtures/expanded-0.1.0.sql', import.meta.url);

const text = { type: 'string' };
const authors = { title: 'Author', type: 'object', properties: { name: text } };
const readerIds = { type: 'array', maxItems: 9, items: { ...text, 'x-references': 'authors' } };
const FORMER = {
  'authors.json': authors,
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: {
      name: { ...text, 'x-index': true },
      note: text,
      secret: text,
      price: { type: 'number', 'x-index': true },
      readerIds,
    },
  },
};
const works = (label: object) => ({
  'authors.json': authors,
  'works.json': declared(
    {
      ...label,
      note: { ...text, 'x-normalize': ['lower'] },
      secret: { ...text, writeOnly: true },
      price: { ...text, 'x-index': true },
      readerIds,
    },
    { was: 'books' },
    { title: 'Book' },
  ),
});
const PRESENT = works({ label: { ...text, 'x-index': true, 'x-was': 'name' } });

/** A database that version 0.1.0 left between expansion and contraction, to which a service with the former declaration wrote. */
async function expanded(t: Test) {
  const url = await undeclaredDatabase(t);
  const present = readDeclarations(declare(t, PRESENT));
  await migrateCollections(url, readDeclarations(declare(t, FORMER)));
  const sql = sqlOf(t, url);
  await sql.unsafe(readFileSync(FIXTURE, 'utf8'));
  await sql`update collections set declaration = ${JSON.stringify(PRESENT['works.json'])}, newest = null, newest_at = null, applied_at = now() where name = 'works'`;
  await sql.unsafe(`insert into ${SCHEMA}.authors (id, updated_at, doc)
    select first_id(1), now(), '{"id":"' || first_id(1) || '","name":"Ann","created_at":"1970-01-01T00:00:00.001Z","updated_at":"1970-01-01T00:00:00.001Z","_version":1}'`);
  await sql.unsafe(`insert into ${SCHEMA}.books (id, updated_at, name, reader_ids, doc)
    select first_id(2), now(), 'B', array[first_id(1)], '{"id":"' || first_id(2) || '","name":"B","note":"N","secret":"S","readerIds":["' || first_id(1)
      || '"],"created_at":"1970-01-01T00:00:00.002Z","updated_at":"1970-01-01T00:00:00.002Z","_version":1}'`);
  const views = async () =>
    (
      await sql`select relname from pg_class where relkind = 'v' and relnamespace = ${SCHEMA}::regnamespace order by length(relname)`
    ).map(({ relname }) => String(relname));
  return { url, sql, present, views };
}

t.test('a database that version 0.1.0 left between expansion and contraction is completed', async (t) => {
  const { url, sql, present, views } = await expanded(t);
  t.strictSame(
    (await planCollections(url, present)).steps,
    [],
    'nothing disturbs the services of that version',
  );
  t.match(await views(), ['books', /^books_reader_ids_\$refs/]);
  await migrateCollections(url, present, { allowDrop: true });
  t.strictSame(await views(), []);
  t.strictSame([...(await sql`select * from plinth_document_work`)], []);
  const { steps, drops } = await planCollections(url, present);
  t.strictSame(
    [...steps, ...drops].map(({ title }) => title),
    [],
  );
  const { send } = await freshService(t, { DATABASE_URL: url, COLLECTIONS: declare(t, PRESENT) });
  const { json } = await send('GET', '/works?page=1&filter[label]=B');
  t.match(json, { meta: { total: 1 }, data: [{ label: 'B', note: 'n', readerIds: [/^0/] }] });
  t.notMatch(JSON.stringify(json), /"(?:name|secret)"/);
  t.match(await sql`select write_only from works`, [{ write_only: { secret: 'S' } }]);
  t.equal((await send('DELETE', `/authors/${json.data[0].readerIds[0]}`)).status, 409, 'the ids are checked');
});

t.test('a window before the contraction fences the services of version 0.1.0', async (t) => {
  const { url, sql, views } = await expanded(t);
  const next = readDeclarations(declare(t, works({ title: { ...text, 'x-index': true, 'x-was': 'label' } })));
  await migrateCollections(url, next, { allowDrop: false });
  for (const name of ['books', 'works'])
    for (const statement of [
      `select doc from ${SCHEMA}.${name}`,
      `insert into ${SCHEMA}.${name} (doc) values ('{}')`,
    ])
      await t.rejects(sql.unsafe(statement), { code: '55000' }, statement);
  await migrateCollections(url, next, { allowDrop: true });
  t.strictSame(await views(), []);
  const { send } = await freshService(t, {
    DATABASE_URL: url,
    COLLECTIONS: declare(t, works({ title: { ...text, 'x-index': true, 'x-was': 'label' } })),
  });
  t.match((await send('GET', '/works?page=1')).json, { meta: { total: 1 }, data: [{ note: 'n' }] });
});
