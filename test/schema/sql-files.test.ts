import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CITUS_URL } from '../support/citus.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const order = (state: object, price: object) => ({
  title: 'Order',
  type: 'object',
  properties: { state, price, name: { type: 'string' } },
});
const BEFORE = order(
  { type: 'string', enum: ['OPEN', 'DONE'], 'x-index': true },
  { type: 'string', 'x-index': true },
);
const AFTER = order(
  { type: 'string', enum: ['open', 'DONE'], 'x-index': true },
  { type: 'number', 'x-index': true },
);
const FILES = {
  '0002_price.sql': `-- begin; is no statement here
    update orders set doc = plinth_change(doc, jsonb_build_object('price', (doc::json ->> 'price')::numeric)), version = version + 1
    where json_typeof(doc::json -> 'price') = 'string';`,
  '0001_state.sql': `do $$ begin
      update orders set doc = plinth_change(doc, '{"state": "open", "name": null, "more": {"a": [1, "\\n"]}}'), version = version + 1
      where doc::json ->> 'state' = 'OPEN';
    end; $$`,
};

/** A database for orders, and a folder with SQL files. */
async function open(t: Test, files: Readonly<Record<string, string>> = {}) {
  const changes = declare(t, files);
  const COLLECTIONS = declare(t, { 'orders.json': BEFORE });
  return { changes, env: { DATABASE_URL: await undeclaredDatabase(t), COLLECTIONS, DATA_CHANGES: changes } };
}

t.test('SQL files are planned, printed, and run once before the other steps', async (t) => {
  const url = await undeclaredDatabase(t);
  const changes = declare(t, {});
  const env = (schema: object) => ({
    DATABASE_URL: url,
    COLLECTIONS: declare(t, { 'orders.json': schema }),
    DATA_CHANGES: changes,
  });
  const first = await testService(t, { ...env(BEFORE), MIGRATE: 'auto' });
  for (const body of [
    { name: 'a', state: 'OPEN', price: '1.5' },
    { state: 'DONE', price: '20' },
  ])
    t.equal((await first.send('POST', '/orders', { body })).status, 201);
  await first.stop();
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(changes, name), text);
  const after = env(AFTER);
  const planned = await plinth(t, ['migrate', '--plan', '--json'], after);
  t.equal(planned.code, 0, 'the files may correct the records');
  const titles = JSON.parse(planned.out).steps.map(({ title }: { title: string }) => title);
  t.strictSame(titles.slice(0, 2), ['Run 0001_state.sql', 'Run 0002_price.sql']);
  const { out } = await plinth(t, ['migrate', '--plan'], after);
  t.match(out, `plinth_change(doc, jsonb_build_object('price'`);
  const migrated = await plinth(t, ['migrate'], after);
  t.equal(migrated.code, 0, migrated.err);
  const printed = titles.map(
    (title: string, index: number) => `${index + 1} of ${titles.length}: ${title}\n`,
  );
  t.ok(migrated.out.startsWith(printed.join('')), 'the printed plan is what runs');
  t.strictSame(JSON.parse((await plinth(t, ['migrate', '--plan', '--json'], after)).out).steps, []);
  const service = await testService(t, after);
  const list = async (query: string) => (await service.send('GET', `/orders?page=1&${query}`)).json.data;
  const [one] = await list('filter[state]=open');
  t.match(one, { state: 'open', price: 1.5, more: { a: [1, '\n'] }, _version: 3 });
  t.notOk('name' in one);
  t.match(await list('sort=-price'), [{ price: 20 }, { price: 1.5 }]);
  for (const { id, _version } of await list('limit=9')) {
    const headers = { 'if-match': `"${_version}"` };
    t.equal((await service.send('PATCH', `/orders/${id}`, { body: { price: 3 }, headers })).status, 200);
  }
  writeFileSync(join(changes, '0001_state.sql'), 'select 1');
  const changed = await plinth(t, ['migrate'], after);
  t.match(changed, { code: 78, err: /0001_state\.sql was changed after it had been run/ });
});

t.test('a file that fails changes nothing, and a new database only records files', async (t) => {
  const { env, changes } = await open(t, { '1.sql': 'update orders set missing = 1' });
  const { code, out } = await plinth(t, ['migrate'], env);
  t.match([code, out], [0, 'Note 1.sql as run']);
  const sql = sqlOf(t, env.DATABASE_URL);
  writeFileSync(join(changes, '2.sql'), `update orders set version = 9; update orders set missing = 1`);
  t.match(await plinth(t, ['migrate'], env), { code: 1, err: /Run 2\.sql: .*missing/ });
  t.match((await plinth(t, ['migrate', '--plan'], env)).out, 'Run 2.sql');
  const migrated = (text: string) =>
    plinth(t, ['migrate'], { ...env, DATA_CHANGES: declare(t, { '3.sql': text }) });
  const TRANSACTION =
    /Run 3\.sql: .*: a file begins and ends no transaction, sets no savepoint, and copies from and to no client/;
  for (const text of [
    'alter table orders disable trigger all; update orders set version = 9',
    'alter table orders disable trigger user; update orders set version = 9; alter table orders enable trigger user',
    'drop trigger plinth_own_members on orders; update orders set version = 9',
    'set local session_replication_role = replica; update orders set version = 9',
  ])
    t.match(
      await migrated(text),
      { code: 1, err: /Run 3\.sql: the triggers of the service \w+ turned off/ },
      text,
    );
  for (const text of [
    'BEGIN;\nselect 1;',
    'select 1;\ncommit;',
    '  rollback',
    'start transaction',
    'begin work',
    'select 1; commit; select 2',
    'select 1;/* a /* b */ c */ end',
    `select 'it''s' /* ' */; Abort`,
    `select E'\\\\';commit`,
    'select 1 as "a;";prepare transaction \'x\'',
    'do $a$ begin null; end $a$;commit',
    'create function f() returns integer begin atomic select 1; end; commit',
    'create procedure f() begin atomic end; commit',
    'savepoint a',
    'copy orders from stdin;',
    'copy orders to stdout',
    `insert into orders (id, doc) values (gen_random_uuid(), '{}'); commit`,
  ])
    t.match(await migrated(text), { code: 1, err: TRANSACTION }, text);
  t.match(await sql`select version from orders`, [], 'nothing is half done');
  const permitted = [
    `select 'a; commit; b', E'\\'; commit; ', "x; commit;" from (select 1 as "x; commit;") as one`,
    '/* ; commit; /* ; commit */ ; commit */ select 1 -- ; commit',
    'do $$ begin null; end $$; do $x$ begin execute $$select 1; commit$$; exception when others then null; end; $x$',
    `create function f(a int) returns integer begin atomic select case when a = 1 then 2 end; select 3; end;
        select f(1) as "begin"; drop function f`,
    'prepare p as select 1; deallocate p',
  ].map((text, at): [string, string] => [`${at + 3}.sql`, text]);
  const files = declare(t, Object.fromEntries([['1.sql', 'update orders set missing = 1'], ...permitted]));
  const ran = await plinth(t, ['migrate'], { ...env, DATA_CHANGES: files });
  t.strictSame([ran.code, ran.err], [0, '']);
  t.equal(ran.out.match(/Run /g)?.length, permitted.length);
});

t.test('a file that leaves invalid records stops the migration until they are corrected', async (t) => {
  const { env, changes } = await open(t);
  const service = await testService(t, { ...env, MIGRATE: 'auto' });
  t.equal((await service.send('POST', '/orders', { body: { state: 'OPEN' } })).status, 201);
  const change = (state: string) =>
    `update orders set doc = plinth_change(doc, '{"state": "${state}"}'), version = version + 1`;
  writeFileSync(join(changes, '1.sql'), change('Öpen'));
  const failed = { code: 1, err: /\/state must be one of/ };
  t.match(await plinth(t, ['migrate'], env), failed);
  t.match(await plinth(t, ['migrate'], env), failed, 'the next run finds them, too');
  t.equal((await plinth(t, ['migrate', '--plan'], env)).code, 1);
  writeFileSync(join(changes, '2.sql'), change('DONE'));
  t.equal((await plinth(t, ['migrate'], env)).code, 0);
  t.match(await plinth(t, ['migrate', '--plan'], env), { code: 0, out: /matches/ });
  const { json } = await service.send('GET', '/orders?page=1&filter[state]=DONE');
  t.equal(json.data.length, 1);
});

t.test('a file in another encoding is refused', async (t) => {
  const changes = declare(t, {});
  writeFileSync(join(changes, '1.sql'), Buffer.from("select 'Café'", 'latin1'));
  const env = { DATABASE_URL: await undeclaredDatabase(t), DATA_CHANGES: changes };
  t.match(await plinth(t, ['migrate'], env), { code: 78, err: /1\.sql: is not UTF-8: the bytes E9 27/ });
});

t.test('the service sets what it owns in records of a file', { skip: CITUS_URL !== '' }, async (t) => {
  const { env, changes } = await open(t);
  const service = await testService(t, { ...env, MIGRATE: 'auto' });
  const created = await service.send('POST', '/orders', { body: { name: 'a', state: 'OPEN' } });
  const path = `/orders/${created.json.id}`;
  const rows: [says: string, sql: string, version: number, name: string][] = [
    ['no version', `update orders set doc = plinth_change(doc, '{"name":"b"}')`, 2, 'b'],
    ['no version at all', `update orders set doc = replace(doc, '"b"', '"c"')`, 3, 'c'],
    ['a version alone', `update orders set version = version + 1`, 4, 'c'],
    ['another version', `update orders set doc = plinth_change(doc, '{"name":"d"}'), version = 99`, 5, 'd'],
    ['own members', `update orders set doc = '{"state":"OPEN","name":"e","id":1,"_version":"x"}'`, 6, 'e'],
    ['the right version', `update orders set doc = plinth_change(doc, '{"name":"f"}'), version = 7`, 7, 'f'],
  ];
  for (const [at, [says, sql, version, name]] of rows.entries()) {
    writeFileSync(join(changes, `000${at}.sql`), sql);
    t.match(await plinth(t, ['migrate'], env), { code: 0 }, says);
    const { json, headers } = await service.send('GET', path);
    const { id, created_at } = created.json;
    t.match(json, { id, created_at, _version: version, name }, says);
    t.equal(headers.etag, `"${version}"`, says);
  }
  t.equal((await service.send('PATCH', path, { body: { name: 'g' } })).json._version, 8);
  const refused: [sql: string, message: RegExp][] = [
    ['update orders set id = gen_random_uuid()', /the id of a record stays/],
    ['truncate orders', /truncate leaves the counts/],
    ['update orders set doc = null', /a record needs a document/],
    [`update orders set doc = '[]'`, /cannot/],
  ];
  for (const [sql, message] of refused) {
    writeFileSync(join(changes, '0009.sql'), sql);
    const { code, err } = await plinth(t, ['migrate'], env);
    t.not(code, 0, sql);
    t.match(err, message);
  }
  writeFileSync(
    join(changes, '0009.sql'),
    `insert into orders (id, doc) values ('01a20900-0000-7000-8000-000000000003', '{"state":"DONE","name":"new"}')`,
  );
  t.match(await plinth(t, ['migrate'], env), { code: 0, err: '' });
  const inserted = (await service.send('GET', '/orders/01a20900-0000-7000-8000-000000000003')).json;
  t.match(inserted, { name: 'new', _version: 1, created_at: /Z$/, updated_at: /Z$/ });
  t.equal((await service.send('GET', '/orders?page=1')).json.meta.total, 2);
});
