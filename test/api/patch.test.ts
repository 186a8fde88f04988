import postgres from 'postgres';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../src/json.js';
import { type Answer, type TestService, testDatabase, testService } from '../support/service.js';

/** A service, and the number of patches that it worked out whole. The first of any is one, so it is done here. */
async function patched(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, env);
  const { send, db, databaseUrl } = service;
  const sql = postgres(databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  const item = async (body: unknown): Promise<string> => {
    const { status, headers } = await send('POST', '/items', { body });
    t.equal(status, 201);
    return headers.location!;
  };
  const path = await item({ name: 'first' });
  t.equal((await send('PATCH', path, { body: { name: 'again' } })).status, 200);
  const whole = () => db.metrics.batch.of('items', 'replace').count;
  t.equal(whole(), 1);
  return { ...service, sql, item, whole };
}

const MERGE = 'application/merge-patch+json';

/** Names that hide in other names and in values, and those that PostgreSQL or JavaScript treat in a way of their own. */
const NAMES = [
  'a',
  'age',
  '"age',
  '\\"age',
  'e":',
  '',
  ':',
  ',',
  '{',
  '\n',
  '\u0001',
  'é',
  '\u2028',
  '😀',
  '7',
  '__proto__',
];
const VALUES = [
  '1',
  '-2.5e-7',
  'true',
  '""',
  '"a\\"age\\":5"',
  '",\\"age\\":5,"',
  '"\\\\"',
  '"é\\u0007\u2028"',
  '{"age":1,"a":{"age":2}}',
  '[{"age":1},"age",null]',
  'null',
];

/** Always the same sequence: what fails once fails again. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

function anyObject(roll: (below: number) => number, most: number): string[] {
  const names = new Set(Array.from({ length: roll(most + 1) }, () => NAMES[roll(NAMES.length)]!));
  return [...names].map((name) => `${JSON.stringify(name)}:${VALUES[roll(VALUES.length)]}`);
}

/** The fields as they stand in the text of an answer. */
const fieldsIn = ({ text }: Answer) => text.slice(45, text.indexOf(',"created_at":'));

t.test('one statement comes to what working out the whole record comes to', async (t) => {
  const { send, item, whole } = await patched(t);
  const roll = dice(7);
  let amended = 0;
  for (let n = 0; n < 250; n++) {
    const body = `{${['"name":"n"', ...anyObject(roll, 6)].join()}}`;
    const change = anyObject(roll, 3);
    const type = n % 2 === 0 ? MERGE : 'application/json';
    const before = whole();
    const alone = await send('PATCH', await item(body), { body: `{${change.join()}}`, type });
    amended += whole() === before ? 1 : 0;
    // A body that names a version is held against the record as it was read.
    const other = await send('PATCH', await item(body), {
      body: `{${['"_version":1', ...change].join()}}`,
      type,
    });
    t.equal(alone.status, 200);
    t.equal(fieldsIn(alone), fieldsIn(other), `case ${n}`);
    const read = await send('GET', `/items/${alone.json.id}`);
    t.equal(read.text, alone.text);
    t.match(read.json, { _version: 2 });
    t.match(alone.headers, { etag: '"2"' });
  }
  t.ok(amended > 100, `${amended} were one statement`);
});

t.test('what more is to be known of a record or a field is looked up', async (t) => {
  const { send, item, whole } = await patched(t);
  const path = await item({ name: 'x', price: 1, nested: { a: 1 }, list: [1] });
  const looksUp = async (body: object, looked: boolean, options = {}): Promise<void> => {
    const before = whole();
    t.equal((await send('PATCH', path, { body, ...options })).status, 200);
    t.equal(whole() - before, looked ? 1 : 0, Object.keys(body).join());
  };
  await looksUp({}, false);
  await looksUp({ price: 2, list: [2] }, false);
  await looksUp({ nested: { b: 1 } }, false);
  await looksUp({ nested: { c: 1 } }, true, { type: MERGE });
  await looksUp({ price: null }, true);
  await looksUp({ 1: 'before all others' }, true);
  await looksUp({ long: 'x'.repeat(1000) }, true);
  await looksUp({ price: 3 }, false);
  await looksUp([{ op: 'add', path: '/price', value: 4 }], true, { type: 'application/json-patch+json' });
  for (let n = 0; n < 4; n++) await looksUp({ [`more${n}`]: 'x'.repeat(900) }, false);
  await looksUp({ price: 5 }, true);
  t.match((await send('GET', path)).json, { price: 5, nested: { b: 1, c: 1 }, list: [2], more3: /x/ });
});

t.test('a record that other rules have checked is checked as a whole', async (t) => {
  const { send, item, sql, whole } = await patched(t);
  const path = await item({ name: 'x', price: 1 });
  const id = path.slice(-36);
  const [{ rules }] = (await sql`select rules from items where id = ${id}`) as [{ rules: number }];
  t.not(rules, 0);
  await sql`update items set rules = 0, doc = replace(doc, '"name":"x",', '') where id = ${id}`;
  t.match(await send('PATCH', path, { body: { price: 2 } }), {
    status: 400,
    json: { errors: [{ path: '/name', keyword: 'required' }] },
  });
  const before = whole();
  t.equal((await send('PATCH', path, { body: { name: 'y' } })).status, 200);
  t.equal(whole() - before, 1);
  t.same([...(await sql`select rules from items where id = ${id}`)], [{ rules }]);
  t.match(await send('PATCH', path, { body: { price: 3 } }), { status: 200, json: { name: 'y', price: 3 } });
  t.equal(whole() - before, 1);
});

t.test('nothing is lost between processes that each change a field of one record', async (t) => {
  const databaseUrl = await testDatabase(t);
  const services = [
    await patched(t, { DATABASE_URL: databaseUrl }),
    await patched(t, { DATABASE_URL: databaseUrl }),
  ];
  const path = await services[0]!.item({ name: 'x' });
  const times = 60;
  await Promise.all(
    services.map(async ({ send, whole }, at) => {
      for (let n = 1; n <= times; n++) {
        const { status, json } = await send('PATCH', path, { body: { [`of${at}`]: n } });
        t.equal(status, 200);
        t.equal(json[`of${at}`], n);
      }
      t.equal(whole(), 1, 'one statement each');
    }),
  );
  t.match((await services[0]!.send('GET', path)).json, { of0: times, of1: times, _version: 1 + 2 * times });
});

t.test('every way of writing leaves the number of the rules', async (t) => {
  const { send, item, sql } = await patched(t);
  const path = await item({ name: 'x' });
  const rulesOf = async () => [...(await sql`select distinct rules from items`)];
  const [present, ...others] = await rulesOf();
  t.same(others, [], 'created alone');
  const reset = () => sql`update items set rules = 0`;
  await reset();
  await Promise.all(Array.from({ length: 8 }, (_, n) => item({ name: `n${n}` })));
  t.same([...(await sql`select distinct rules from items where name like 'n%'`)], [present]);
  await reset();
  const all = [...(await sql`select id from items`)];
  await Promise.all(all.map(({ id }) => send('PUT', `/items/${id}`, { body: { name: 'z' } })));
  t.same(await rulesOf(), [present], 'alone');
  await reset();
  await Promise.all(all.map(({ id }) => send('PATCH', `/items/${id}`, { body: { price: 1 } })));
  t.same(await rulesOf(), [present], 'together');
  await reset();
  t.equal(
    (await send('PATCH', path, { body: { price: 2 }, headers: { 'idempotency-key': 'k' } })).status,
    200,
  );
  t.same([...(await sql`select rules from items where id = ${path.slice(-36)}`)], [present]);
});

t.test('refused as by working out the whole record', async (t) => {
  const databaseUrl = await testDatabase(t);
  const service = await patched(t, { DATABASE_URL: databaseUrl, BODY_LIMIT: '1024', TOMBSTONES: 'on' });
  const { send, item, sql } = service;
  const path = await item({ name: 'x', filling: 'x'.repeat(700) });
  const gone = await item({ name: 'gone' });
  await send('DELETE', gone);
  const absent = '/items/01900000-0000-7000-8000-000000000000';
  const before = (await send('GET', path)).text;
  const patch = (path: string, body: unknown, headers = {}) => send('PATCH', path, { body, headers });
  t.equal((await patch(absent, { price: 'none' })).status, 404);
  t.equal((await patch(gone, { price: 1 })).status, 410);
  t.match(await patch(path, { price: 'none', name: '' }), {
    status: 400,
    json: { errors: [{ path: '/name' }, { path: '/price' }] },
  });
  t.match(await patch(path, { price: 1 }, { 'if-match': '"2"' }), { status: 412, headers: { etag: '"1"' } });
  t.equal((await patch(path, { price: 1 }, { 'if-match': '"2", "3"' })).status, 412);
  t.equal((await patch(path, { price: 1, _version: 2 })).status, 409);
  t.equal((await patch(path, { more: 'x'.repeat(200) })).status, 413);
  t.equal((await send('GET', path)).text, before, 'nothing was written');
  t.equal((await patch(path, { price: 1 }, { 'if-match': '"1"' })).status, 200);
  t.equal((await patch(path, { price: 2 }, { 'if-match': '"1", "2"' })).status, 200);
  t.match(await patch(path, { price: 3 }, { prefer: 'return=minimal' }), { status: 204, text: '' });
  t.equal((await sql`select price from items where id = ${path.slice(-36)}`)[0]!.price, 3, 'and its column');
});

t.test('users and posts: what is unique, secret or a reference', async (t) => {
  const { send, sql }: TestService & { sql: postgres.Sql } = await patched(t);
  const user = async (email: string): Promise<string> =>
    (await send('POST', '/users', { body: { email, name: 'N' } })).json.id;
  const [one, two] = [await user('one@example.org'), await user('two@example.org')];
  const patch = async (path: string, body: JsonObject) => send('PATCH', path, { body });
  await patch(`/users/${one}`, { age: 1 });
  t.match(await patch(`/users/${one}`, { email: ' TWO@example.org ' }), {
    status: 409,
    json: { error: { code: 'EMAIL_TAKEN' } },
  });
  t.match(await patch(`/users/${one}`, { email: ' Three@Example.org ', age: '7' }), {
    status: 200,
    json: { email: 'three@example.org', age: 7 },
  });
  t.same([...(await sql`select email from users where id = ${one}`)], [{ email: 'three@example.org' }]);
  t.notMatch((await patch(`/users/${one}`, { password: 'correct horse' })).text, /password|horse/);
  t.equal((await sql`select from passwords where user_id = ${one}`).length, 1);
  const post = (await send('POST', '/posts', { body: { userId: one, title: 'A' } })).json.id;
  await patch(`/posts/${post}`, { title: 'B' });
  t.match(await patch(`/posts/${post}`, { title: 'C' }), { status: 200, json: { userId: one, title: 'C' } });
  t.equal((await patch(`/posts/${post}`, { userId: two.toUpperCase() })).json.userId, two);
  t.equal((await patch(`/posts/${post}`, { userId: post })).status, 422);
  t.same([...(await sql`select user_id from posts`)], [{ user_id: two }]);
});

t.test(
  'where a name stands more than once, or otherwise than expected, all is put together anew',
  async (t) => {
    const { sql } = await patched(t);
    const over = async (fields: string, names: string[], texts: string[]) =>
      (await sql`select lay_over(${fields}, ${names}::text[], ${texts}::text[]) as fields`)[0]!.fields;
    t.equal(await over('"a":{"age":1},"age":1', ['age'], ['5']), '"a":{"age":1},"age":5');
    t.equal(
      await over('"a":[{"age":12}],"age":1', ['b', 'age'], ['2', '5']),
      '"a":[{"age":12}],"age":5,"b":2',
    );
    t.equal(await over('"x\\"age":1,"age":1', ['age'], ['5']), '"x\\"age":1,"age":5');
    t.equal(await over('"a" : 1, "b":  2', ['b', 'c'], ['3', '4']), '"a":1,"b":3,"c":4');
    t.equal(await over('"b":  2', ['b'], ['3']), '"b":3');
    t.equal(await over('"\\u0061":1,"b":{"a":2}', ['a'], ['3']), '"a":3,"b":{"a":2}');
    t.equal(await over('', ['a', 'b'], ['1', '2']), '"a":1,"b":2');
    t.equal(await over('', [], []), '');
  },
);
