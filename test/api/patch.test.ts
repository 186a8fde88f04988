import type postgres from 'postgres';
import type { JsonObject } from '../../src/json.js';
import { type TestService, testDatabase, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

/** A service with a function that creates an item. */
async function patched(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, env);
  const sql = sqlOf(t, service.databaseUrl);
  const item = async (body: unknown): Promise<string> => {
    const { status, headers } = await service.send('POST', '/items', { body });
    t.equal(status, 201);
    return headers.location!;
  };
  return { ...service, sql, item };
}

const MERGE = 'application/merge-patch+json';

/** Names that occur in other names and in values, and names that PostgreSQL or JavaScript treat specially. */
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

/** Always the same sequence, so that a failure is repeatable. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

function anyObject(roll: (below: number) => number, max: number): string[] {
  const names = new Set(Array.from({ length: roll(max + 1) }, () => NAMES[roll(NAMES.length)]!));
  return [...names].map((name) => `${JSON.stringify(name)}:${VALUES[roll(VALUES.length)]}`);
}

t.test('a patch of fields gives the record that the same fields give on create', async (t) => {
  const { send, item } = await patched(t);
  const roll = dice(7);
  for (let n = 0; n < 100; n++) {
    const body = `{${['"name":"n"', ...anyObject(roll, 6)].join()}}`;
    const change = `{${anyObject(roll, 3).join()}}`;
    const type = n % 2 === 0 ? MERGE : 'application/json';
    const path = await item(body);
    const { _version, created_at, updated_at, _links, ...before } = (await send('GET', path)).json;
    const response = await send('PATCH', path, { body: change, type });
    t.equal(response.status, 200);
    t.match(response.headers, { etag: '"2"' });
    t.equal((await send('GET', path)).text, response.text);
    const expected = new Map(Object.entries(before));
    for (const [name, value] of Object.entries(JSON.parse(change))) {
      if (type !== MERGE) expected.set(name, value);
      else if (value === null) expected.delete(name);
      else expected.set(name, merged(expected.get(name), value));
    }
    const fields = Object.keys(response.json).filter((name) => !OWNED.includes(name));
    t.same(
      new Map(fields.map((name) => [name, response.json[name]])),
      new Map([...expected].filter(([name]) => name !== 'id')),
      `case ${n}`,
    );
  }
});

const OWNED = ['id', 'created_at', 'updated_at', '_version', '_links'];

/** The merge of two values of VALUES (RFC 7396). */
function merged(target: unknown, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
  return isObject ? { ...target, ...value } : value;
}

t.test('a stored record that breaks the rules is rejected until a patch corrects it', async (t) => {
  const { send, item, sql } = await patched(t);
  const path = await item({ name: 'x', price: 1 });
  await sql`update items set doc = replace(doc, '"name":"x",', '') where id = ${path.slice(-36)}`;
  t.match(await send('PATCH', path, { body: { price: 2 } }), {
    status: 400,
    json: { errors: [{ path: '/name', keyword: 'required' }] },
  });
  t.match(await send('PATCH', path, { body: { name: 'y' } }), { status: 200, json: { name: 'y', price: 1 } });
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
    services.map(async ({ send }, at) => {
      for (let n = 1; n <= times; n++) {
        const { status, json } = await send('PATCH', path, { body: { [`of${at}`]: n } });
        t.equal(status, 200);
        t.equal(json[`of${at}`], n);
      }
    }),
  );
  t.match((await services[0]!.send('GET', path)).json, { of0: times, of1: times, _version: 1 + 2 * times });
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
  const post = (await send('POST', '/posts', { body: { userId: one, title: 'A' } })).json.id;
  await patch(`/posts/${post}`, { title: 'B' });
  t.match(await patch(`/posts/${post}`, { title: 'C' }), { status: 200, json: { userId: one, title: 'C' } });
  t.equal((await patch(`/posts/${post}`, { userId: two.toUpperCase() })).json.userId, two);
  t.equal((await patch(`/posts/${post}`, { userId: post })).status, 422);
  t.same([...(await sql`select user_id from posts`)], [{ user_id: two }]);
});
