import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { testService, undeclaredDatabase } from '../support/service.js';
import t from '../support/test.js';

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
  t.match(
    (await plinth(t, ['migrate', '--plan'], after)).out,
    `plinth_change(doc, jsonb_build_object('price'`,
  );
  const migrated = await plinth(t, ['migrate'], after);
  t.equal(migrated.code, 0, migrated.err);
  t.strictSame(
    migrated.out.split('\n').slice(0, titles.length),
    titles.map((title: string, index: number) => `${index + 1} of ${titles.length}: ${title}`),
    'the printed plan is what runs',
  );
  t.strictSame(JSON.parse((await plinth(t, ['migrate', '--plan', '--json'], after)).out).steps, []);
  const service = await testService(t, after);
  const list = async (query: string) => (await service.send('GET', `/orders?page=1&${query}`)).json.data;
  t.match(await list('filter[state]=open'), [
    { state: 'open', price: 1.5, more: { a: [1, '\n'] }, _version: 3 },
  ]);
  t.notOk('name' in (await list('filter[state]=open'))[0]);
  t.match(await list('sort=-price'), [{ price: 20 }, { price: 1.5 }]);
  for (const { id, _version } of await list('limit=9')) {
    const headers = { 'if-match': `"${_version}"` };
    t.equal((await service.send('PATCH', `/orders/${id}`, { body: { price: 3 }, headers })).status, 200);
  }
  writeFileSync(join(changes, '0001_state.sql'), 'select 1');
  t.match(await plinth(t, ['migrate'], after), {
    code: 78,
    err: /0001_state\.sql was changed after it had been run/,
  });
});

t.test(
  'a file that fails changes nothing, and a new database records files without running them',
  async (t) => {
    const url = await undeclaredDatabase(t);
    const changes = declare(t, { '1.sql': 'update orders set missing = 1' });
    const env = {
      DATABASE_URL: url,
      COLLECTIONS: declare(t, { 'orders.json': BEFORE }),
      DATA_CHANGES: changes,
    };
    const { code, out } = await plinth(t, ['migrate'], env);
    t.match([code, out], [0, 'Note 1.sql as run']);
    writeFileSync(join(changes, '2.sql'), `update orders set version = 9; update orders set missing = 1`);
    t.match(await plinth(t, ['migrate'], env), { code: 1, err: /Run 2\.sql: .*missing/ });
    t.match((await plinth(t, ['migrate', '--plan'], env)).out, 'Run 2.sql');
    for (const text of [
      'BEGIN;\nselect 1;',
      'select 1;\ncommit;',
      '  rollback',
      'start transaction',
      'begin work',
    ])
      t.match(
        await plinth(t, ['migrate'], {
          ...env,
          DATA_CHANGES: declare(t, { '3.sql': text }),
        }),
        { code: 78, err: /3\.sql: begins or ends a transaction/ },
        text,
      );
  },
);
