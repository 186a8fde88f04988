import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { type TestService, testDatabase, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';

const text = { type: 'string' } as const;
const DECLARATIONS = {
  'authors.json': { title: 'Author', type: 'object', properties: { name: { ...text, 'x-unique': true } } },
  'books.json': {
    title: 'Book',
    type: 'object',
    properties: {
      title: { ...text, 'x-index': true, 'x-search': true },
      price: { type: 'number', 'x-index': true },
      authorId: { ...text, 'x-references': 'authors', 'x-on-delete': 'null' },
      sequelId: { ...text, 'x-references': 'books', 'x-on-delete': 'null' },
    },
  },
};
const NEXT = {
  ...DECLARATIONS,
  'books.json': {
    ...DECLARATIONS['books.json'],
    properties: {
      ...DECLARATIONS['books.json'].properties,
      price: { ...text, 'x-index': true },
    },
  },
};

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Names of schemas, by each way to select one in turn. `Shop` is beside the schema `shop` of another service. */
const NAMES = 'shop|My Schema|Shop|ünï|a-b|select|user|a"b|a\'b|a.b|a,b|a\\b|a$b|1a|a:table|50%'.split('|');
NAMES.push('n'.repeat(63), 'ü'.repeat(31));

function urlOf(plain: string, name: string, at: number): string {
  const url = new URL(plain);
  const path = `${quoted(name)},public`;
  const escaped = path.replaceAll('\\', '\\\\').replaceAll(' ', '\\ ');
  url.search =
    at % 2 === 0
      ? `search_path=${encodeURIComponent(path)}`
      : `options=${encodeURIComponent(`-c search_path=${escaped}`)}`;
  return url.href;
}

/** Writes and reads by what has functions and triggers of its own in the database. */
async function use(t: Test, { send }: TestService): Promise<void> {
  const author = (await send('POST', '/authors', { body: { name: 'Ann' } })).json;
  t.equal((await send('POST', '/authors', { body: { name: 'Ann' } })).status, 409);
  const body = { title: 'One', price: 1, authorId: author.id };
  const { id } = (await send('POST', '/books', { body })).json;
  t.equal((await send('PATCH', `/books/${id}`, { body: { sequelId: id } })).status, 200);
  const list = await send('GET', '/books?search=on&sort=-price&include=author&page=1');
  t.match(list.json.data, [{ title: 'One', _included: { author: { name: 'Ann' } } }]);
  t.equal((await send('DELETE', `/authors/${author.id}`)).status, 204);
  t.equal((await send('GET', `/books/${id}`)).json.authorId, undefined);
  t.equal((await send('DELETE', `/books/${id}`)).status, 204);
  t.equal((await send('POST', '/books', { body: { title: 'Two', price: 2 } })).status, 201);
}

const shared = testDatabase(t, true);

for (const [at, name] of some([...NAMES.entries()], 4))
  t.test(`a service works in the schema ${name}`, async (t) => {
    const plain = await (name.toLowerCase() === 'shop' ? shared : testDatabase(t, true));
    const sql = sqlOf(t, plain);
    await sql.unsafe(`create schema ${quoted(name)}`);
    const DATABASE_URL = urlOf(plain, name, at);
    const env = { DATABASE_URL, COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' };
    const service = await testService(t, env);
    await use(t, service);
    await service.stop();
    const exported = await plinth(t, ['export', 'books'], env);
    t.match(exported, { code: 0, err: '', out: /^\{.*"Two".*\}\n$/ });

    const next = { DATABASE_URL, COLLECTIONS: declare(t, NEXT), MIGRATE: 'check' };
    for (const allows of ['--allow-violations', '--allow-drop'])
      t.match(await plinth(t, ['migrate', allows], next), { code: 0 });
    t.match((await plinth(t, ['migrate', '--plan'], next)).out, /matches the declarations/);
    const input = '[{"title":"Three","price":"3"}]';
    t.match(await plinth(t, ['import', 'books', '-'], next, { input }), { code: 0, err: '' });
    const again = await testService(t, next);
    t.equal((await again.send('GET', '/books')).json.length, 2);
    await again.stop();
    const [own] = await sql`select count(*)::int as n from pg_class where relname = 'idempotency_keys'
      and relnamespace = (select oid from pg_namespace where nspname = ${name})`;
    t.equal(own!.n, 1, 'the tables of the service are there');
  });

t.test('a schema that does not exist ends the start with its reason', async (t) => {
  const DATABASE_URL = urlOf(await testDatabase(t, true), 'My Schema', 0).replace('%2Cpublic', '');
  const { code, err } = await plinth(t, ['migrate'], { DATABASE_URL });
  t.not(code, 0);
  t.match(err, /no schema of the search_path \("My Schema"\) exists/);
});

t.test('an extension that the search_path hides ends the start with its reason', async (t) => {
  const plain = await testDatabase(t, true);
  const sql = sqlOf(t, plain);
  await sql`create schema "Other"`;
  await sql`create extension pg_trgm schema "Other"`;
  const { code, err } = await plinth(t, ['migrate'], { DATABASE_URL: plain });
  t.not(code, 0);
  t.match(err, /pg_trgm is in the schema Other, which is not in the search_path/);
});
