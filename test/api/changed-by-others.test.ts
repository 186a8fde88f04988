import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

t.test('reads see what other writers have changed since the last read', async (t) => {
  const { send, databaseUrl } = await testService(t);
  const sql = sqlOf(t, databaseUrl);
  const ids: string[] = [];
  for (let n = 0; n < 30; n++)
    ids.push((await send('POST', '/users', { body: { email: `u${n}@example.org`, name: `U${n}` } })).json.id);
  const readAll = () => Promise.all(ids.map((id) => send('GET', `/users/${id}`)));
  const states = async () =>
    (await readAll()).map(({ status, json }) => (status === 200 ? json._version : status));
  for (let times = 0; times < 3; times++) t.same(await states(), new Array(30).fill(1));

  const [changed, deleted, patched] = [ids.slice(0, 5), ids.slice(5, 10), ids.slice(10, 15)];
  await sql`update users set version = 7, doc = replace(doc, '"_version":1}', '"_version":7}') where id = any (${changed}::uuid[])`;
  await sql`delete from users where id = any (${deleted}::uuid[])`;
  for (const id of patched) await send('PATCH', `/users/${id}`, { body: { age: 5 } });
  const expected = [7, 404, 2, 1, 1, 1].flatMap((state) => new Array(5).fill(state));
  for (let times = 0; times < 2; times++) t.same(await states(), expected);
  await sql`vacuum full users`;
  for (let times = 0; times < 2; times++) t.same(await states(), expected);
  for (const [n, { json }] of (await readAll()).entries())
    if (json.id) t.match(json, { id: ids[n], name: `U${n}` });
});
