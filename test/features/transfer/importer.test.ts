import type { Json } from '../../../src/json.js';
import { load } from '../../support/load.js';
import { testService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';

async function opened(t: Test) {
  const service = await testService(t);
  const named = (name: string) =>
    service.collections.find(({ resource }) => resource.name === name)!.resource;
  return { service, all: { url: service.databaseUrl, resources: ['posts', 'users', 'items'].map(named) } };
}

const user = (id: Json, name: string) => ({ id, name, email: `${name}@example.org` });

t.test('a renamed field is an id or a reference like any other', async (t) => {
  const { service, all } = await opened(t);
  const rename = new Map([
    ['_id', 'id'],
    ['author', 'userId'],
    ['title', 'name'],
    ['name', 'title'],
  ]);
  const { refusals } = await load(
    all,
    {
      users: [{ _id: 7, title: 'Ann', email: 'ann@example.org' }],
      posts: [{ author: 7, title: 'Mine' }],
      items: [
        { title: 'swapped', name: 'over' },
        { name: 'n', author: 1, userId: 2 },
      ],
    },
    { rename },
  );
  t.same(refusals, ['items[1]/userId: two fields have this name after --rename']);
  const [ann] = (await service.send('GET', '/users')).json;
  t.match((await service.send('GET', '/posts')).json, [{ userId: ann.id, name: 'Mine' }]);
  t.match((await service.send('GET', '/items?order=asc')).json, [{ name: 'swapped', title: 'over' }]);
});

t.test('what HTTP would refuse is refused, and stops nothing else', async (t) => {
  const { service, all } = await opened(t);
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const text = `[{"name": "first"}, {"name": "deep", "x": ${deep}}, {"name": "far", "n": [1e400]},
    {"name": "half \\ud800"}, {"name": "big", "x": "${'x'.repeat(2000)}"}, null, {"name": "", "price": "1"},
    {"name": "n", "x": ["\\u0000"]}, {"name": "last", "__proto__": {"a": 1}, "constructor": 2, "id": 5, "_version": 9, "created_at": "then"}]`;
  const { imported, refusals } = await load(all, `{"items": ${text}}`, { bodyLimit: 1000 });
  t.match(imported, [{ collection: 'items', stored: 2, refused: 7 }]);
  t.same(refusals, [
    'items[1]: must not be nested deeper than 32 levels',
    'items[2]: a number that does not fit a double: 1e400',
    'items[3]/name: must not contain a lone surrogate',
    'items[4]: PAYLOAD_TOO_LARGE: The body may have at most 1000 bytes.',
    'items[5]: must be an object',
    'items[6]/name: must not be empty (value "")',
    'items[6]/price: must be of type number (value "1")',
    'items[7]/x/0: must not contain U+0000',
  ]);
  const { text: response } = await service.send('GET', '/items?order=asc');
  t.match(response, /"__proto__":\{"a":1\},"constructor":2,/);
  const [first, last] = JSON.parse(response);
  t.match([first, last], [{ name: 'first' }, { name: 'last', _version: 1 }]);
  t.not(last.created_at, 'then');
});

t.test('an error that no record caused ends the load, and nothing of its batch is stored', async (t) => {
  const { service, all } = await opened(t);
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe(`create function fail() returns trigger language plpgsql as
    $$ begin raise exception 'gone' using errcode = '57P01'; end $$;
    create trigger fail before insert on items for each row when (new.name = 'item 900') execute function fail()`);
  const records = Array.from({ length: 1000 }, (_, at) => ({ name: `item ${at}` }));
  const { imported, fault, refusals } = await load(all, { users: [user(1, 'ann')], items: records });
  t.match(imported, [
    { collection: 'users', stored: 1, refused: 0 },
    { collection: 'items', stored: 0, refused: 0 },
  ]);
  t.match(fault, { message: /^the rest was not loaded: The database is not available\. .* --resume\.$/ });
  t.same(refusals, []);
});
