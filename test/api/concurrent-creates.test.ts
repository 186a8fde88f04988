import { type ServiceResponse, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const count = (responses: readonly ServiceResponse[], status: number): number =>
  responses.filter((response) => response.status === status).length;

t.test('creates that come together are one transaction, and each has its own response', async (t) => {
  const { send, databaseUrl } = await testService(t);
  const sql = sqlOf(t, databaseUrl);
  await send('POST', '/users', { body: { email: 'taken@example.org', name: 'First' } });
  const responses = await Promise.all(
    Array.from({ length: 120 }, (_, n) => {
      // Every tenth address is already in use, every seventh pair is the same address, every eleventh is invalid.
      const email =
        n % 10 === 3 ? 'taken@example.org' : `n${n % 14 < 7 ? n : n - (n % 14 === 7 ? 7 : 0)}@example.org`;
      const body =
        n % 11 === 5 ? { email } : { email, name: `N "${n}" \\ \u2028 é`, n, nested: { a: [1.5] } };
      return send('POST', '/users', { body });
    }),
  );
  const made = responses.filter(({ status }) => status === 201).map(({ json }) => json);
  for (const response of responses) t.ok([201, 400, 409].includes(response.status), String(response.status));
  t.equal(count(responses, 400), 11);
  t.ok(count(responses, 409) >= 12);
  for (const response of responses.filter(({ status }) => status === 409))
    t.equal(response.json.error.code, 'EMAIL_TAKEN');
  for (const { id, name, n } of made) {
    const { json } = await send('GET', `/users/${id}`);
    t.equal(json.name, `N "${n}" \\ \u2028 é`);
    t.equal(json.name, name);
  }
  const [rows] =
    await sql`select count(*)::int as all, count(distinct xmin::text)::int as transactions from users`;
  t.equal(rows!.all, made.length + 1);
  t.ok(rows!.transactions < rows!.all, 'fewer transactions than records');
  t.equal((await send('GET', '/users?page=1')).json.meta.total, rows!.all);
});

t.test('a record that names no parent spoils none of those that came with it', async (t) => {
  const { send } = await testService(t);
  const user = (await send('POST', '/users', { body: { email: 'a@example.org', name: 'A' } })).json.id;
  const none = '01900000-0000-7000-8000-000000000000';
  const responses = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      send('POST', '/posts', { body: { userId: n % 6 === 0 ? none : user, n } }),
    ),
  );
  t.equal(count(responses, 201), 50);
  t.equal(count(responses, 422), 10);
  t.equal((await send('GET', `/users/${user}/posts`)).json.length, 50);
});

t.test('patches that come together: each applied once, refused ones alone', async (t) => {
  const { send, databaseUrl } = await testService(t);
  const sql = sqlOf(t, databaseUrl);
  const users: string[] = [];
  for (let n = 0; n < 40; n++)
    users.push((await send('POST', '/users', { body: { email: `p${n}@example.org`, name: 'P' } })).json.id);
  const responses = await Promise.all(
    users.flatMap((id, n) => [
      send('PATCH', `/users/${id}`, { body: { note: `n${n}` } }),
      send('PATCH', `/users/${id}`, { body: n % 8 === 0 ? { email: 'p1@example.org' } : { age: n } }),
    ]),
  );
  t.equal(count(responses, 200), 75);
  t.equal(count(responses, 409), 5);
  for (const [n, id] of users.entries()) {
    const { json } = await send('GET', `/users/${id}`);
    t.match(json, { note: `n${n}`, email: `p${n}@example.org`, ...(n % 8 === 0 ? {} : { age: n }) });
    t.equal(json._version, n % 8 === 0 ? 2 : 3);
  }
  const [rows] = await sql`select count(distinct xmin::text)::int as transactions from users`;
  t.ok(rows!.transactions < 40, 'fewer transactions than records');
});

t.test('of changes of one version that come together one takes place', async (t) => {
  const { send } = await testService(t);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push((await send('POST', '/items', { body: { name: `i${n}` } })).json.id);
  const puts = ids.flatMap((id) =>
    Array.from({ length: 8 }, async (_, n) => {
      const body = { name: `by ${n}`, price: n / 3 };
      return send(n % 2 ? 'PUT' : 'PATCH', `/items/${id}`, { body, headers: { 'if-match': '"1"' } });
    }),
  );
  const responses = await Promise.all(puts);
  t.equal(count(responses, 200), 5);
  t.equal(count(responses, 412), 35);
  for (const id of ids) {
    const won = responses.find(({ status, json }) => status === 200 && json.id === id)!;
    t.same((await send('GET', `/items/${id}`)).json, won.json);
  }
  const gone = await Promise.all(
    [...ids, '01900000-0000-7000-8000-000000000000'].map((id) =>
      send('PUT', `/items/${id}`, { body: { name: 'x', _version: 2 } }),
    ),
  );
  t.same(
    gone.map(({ status }) => status),
    [200, 200, 200, 200, 200, 404],
  );
});
