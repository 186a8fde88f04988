import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import { openSql, SCHEMA } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { times } from '../support/thorough.js';

const ids = (to: string, onDelete?: string, more: object = {}) => ({
  type: 'array',
  maxItems: 50,
  items: { type: 'string', 'x-references': to, ...(onDelete ? { 'x-on-delete': onDelete } : {}) },
  ...more,
});
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const MISSING = '00000000-0000-7000-8000-000000000000';

const COLLECTIONS = {
  'people.json': object({ name: { type: 'string', 'x-index': true } }),
  'tasks.json': object({
    title: { type: 'string', 'x-index': true },
    watcherIds: ids('people', 'remove', { uniqueItems: true }),
    reviewers: ids('people'),
    blockers: ids('tasks', 'remove'),
    parts: ids('tasks'),
  }),
};

async function service(t: Test) {
  const { send, ...rest } = await testService(t, { COLLECTIONS: declare(t, COLLECTIONS), MIGRATE: 'auto' });
  const create = async (path: string, body: object = {}): Promise<string> => {
    const { status, json } = await send('POST', path, { body });
    t.equal(status, 201, JSON.stringify(json));
    return json.id;
  };
  const get = async (id: string): Promise<JsonObject> => (await send('GET', `/tasks/${id}`)).json;
  return { ...rest, send, create, get };
}

/** The ids in the arrays of records that are those of no record, and those that differ from the table with the links. */
async function faults(databaseUrl: string): Promise<unknown[]> {
  const sql = openSql(databaseUrl, { max: 1 });
  try {
    const tables = await sql`
      select relname as name from pg_class
      where relnamespace = ${SCHEMA}::regnamespace and relkind = 'r' and relname like 'tasks\_%$refs%'`;
    const found: unknown[] = [];
    for (const { name } of tables) {
      const [{ column }] = (await sql`
        select attname as column from pg_attribute
        where attrelid = ${`${SCHEMA}."${name}"`}::regclass and attnum = 2`) as unknown as [
        { column: string },
      ];
      const field = { watcher_ids: 'watcherIds' }[column] ?? column;
      const target = field === 'blockers' || field === 'parts' ? 'tasks' : 'people';
      found.push(
        ...(await sql.unsafe(`
          with listed as (select id, unnest(${column}) as target from ${SCHEMA}.tasks),
            documents as (select id, json_array_elements_text(doc::json -> '${field}')::uuid as target from ${SCHEMA}.tasks),
            links as (select record$ as id, ${column} as target from ${SCHEMA}."${name}")
          select * from listed where target not in (select id from ${SCHEMA}.${target})
          union all (select * from listed except select * from links)
          union all (select * from links except select * from listed)
          union all (select * from documents except select * from links)
          union all (select * from links except select * from documents)`)),
      );
    }
    return [tables.length, ...found];
  } finally {
    await sql.end();
  }
}

t.test('each id of an array must be that of a record', async (t) => {
  const { send, create, get, databaseUrl } = await service(t);
  const [ann, bob] = [await create('/people', { name: 'Ann' }), await create('/people', { name: 'Bob' })];
  const task = await create('/tasks', { title: 'a', watcherIds: [ann.toUpperCase(), bob] });
  t.same((await get(task)).watcherIds, [ann, bob], 'ids are stored in their canonical form');
  const rows: [body: object, path: string, code: string][] = [
    [{ watcherIds: [ann, MISSING] }, '/watcherIds/1', 'PEOPLE_NOT_FOUND'],
    [{ reviewers: [MISSING] }, '/reviewers/0', 'PEOPLE_NOT_FOUND'],
    [{ watcherIds: [ann, bob, 'none'] }, '/watcherIds/2', 'PEOPLE_NOT_FOUND'],
    [{ blockers: [task, ann] }, '/blockers/1', 'TASK_NOT_FOUND'],
  ];
  for (const [body, path, code] of rows) {
    const expected = { status: 422, json: { error: { code, details: { path } } } };
    t.match(await send('POST', '/tasks', { body }), expected, path);
    t.match(await send('PATCH', `/tasks/${task}`, { body }), expected, path);
    t.match(await send('PUT', `/tasks/${task}`, { body }), expected, path);
    const operations = [{ method: 'PATCH', path: `/tasks/${task}`, body }];
    t.match((await send('POST', '/batch', { body: operations })).text, new RegExp(code));
  }
  t.match(await send('POST', '/tasks', { body: { watcherIds: [ann, ann] } }), { status: 400 });
  t.match(await send('POST', '/tasks', { body: { watcherIds: ann } }), { status: 400 });
  for (const watcherIds of [[bob], [], null, [bob, ann]]) {
    t.equal((await send('PATCH', `/tasks/${task}`, { body: { watcherIds } })).status, 200);
    t.same(await faults(databaseUrl), [4], JSON.stringify(watcherIds));
  }
});

t.test('the deletion of a record that arrays name', async (t) => {
  const { send, create, get, databaseUrl } = await service(t);
  const [ann, bob] = [await create('/people'), await create('/people')];
  const task = await create('/tasks', { title: 'a', watcherIds: [bob, ann], reviewers: [bob] });
  t.match(await send('DELETE', `/people/${bob}`), {
    status: 409,
    json: { error: { code: 'REFERENCED', details: { collection: 'tasks' } } },
  });
  const before = await get(task);
  t.equal((await send('DELETE', `/people/${ann}`)).status, 204);
  const after = await get(task);
  t.same(after.watcherIds, [bob], 'the id is removed');
  t.equal(after._version, Number(before._version) + 1);
  t.match((await send('GET', `/tasks/${task}`)).headers.etag, '2');
  t.equal((await send('PATCH', `/tasks/${task}`, { body: { reviewers: [] } })).status, 200);
  t.equal((await send('DELETE', `/people/${bob}`)).status, 204);
  t.same((await get(task)).watcherIds, [], 'the array remains');
  t.same(await faults(databaseUrl), [4]);
});

t.test('records of a collection that name each other and themselves', async (t) => {
  const { send, create, get, databaseUrl } = await service(t);
  const [a, b] = [await create('/tasks', { title: 'pair' }), await create('/tasks', { title: 'pair' })];
  t.equal((await send('PATCH', `/tasks/${a}`, { body: { parts: [a, b], blockers: [a, b] } })).status, 200);
  t.equal((await send('PATCH', `/tasks/${b}`, { body: { parts: [a], blockers: [a] } })).status, 200);
  t.match(await send('DELETE', `/tasks/${a}`), {
    status: 409,
    json: { error: { code: 'REFERENCED', details: { collection: 'tasks' } } },
  });
  t.equal((await send('PATCH', `/tasks/${b}`, { body: { parts: [] } })).status, 200);
  t.equal((await send('DELETE', `/tasks/${a}`)).status, 204, 'a record may name itself');
  t.same((await get(b)).blockers, []);
  const c = await create('/tasks', { title: 'pair', parts: [b] });
  t.equal((await send('PATCH', `/tasks/${b}`, { body: { blockers: [b, c] } })).status, 200);
  t.match(await send('DELETE', '/tasks?filter[title]=pair'), { status: 200, json: { meta: { matched: 2 } } });
  t.same(await faults(databaseUrl), [4]);
});

t.test('no id remains of a record that is deleted beside writers', async (t) => {
  const { send, create, databaseUrl } = await service(t);
  const tasks = await Promise.all(Array.from({ length: 8 }, () => create('/tasks', {})));
  for (let round = times(4, 8, 40); round > 0; round--) {
    const people = await Promise.all(Array.from({ length: 4 }, () => create('/people')));
    const statuses = new Set<number>();
    const write = async (n: number) => {
      const watcherIds = people.slice(n % 4).concat(people.slice(0, n % 4));
      const path = n % 2 === 0 ? '/tasks' : `/tasks/${tasks[n % tasks.length]}`;
      const { status } = await send(n % 2 === 0 ? 'POST' : 'PATCH', path, { body: { watcherIds } });
      statuses.add(status);
    };
    const deleted = people.slice(0, 2).map(async (id) => {
      const { status } = await send('DELETE', `/people/${id}`);
      t.equal(status, 204);
    });
    await Promise.all([...Array.from({ length: 32 }, (_, n) => write(n)), ...deleted]);
    t.same(
      [...statuses].filter((status) => ![200, 201, 422].includes(status)),
      [],
    );
  }
  t.same(await faults(databaseUrl), [4]);
});

t.test('batches and changes of several records', async (t) => {
  const { send, create, get, databaseUrl } = await service(t);
  const ann = await create('/people', { name: 'Ann' });
  const tasks = [
    await create('/tasks', { title: 'bulk' }),
    await create('/tasks', { title: 'bulk', watcherIds: [ann] }),
  ];
  t.match(
    await send('PATCH', '/tasks?filter[title]=bulk', {
      body: { watcherIds: [ann] },
      headers: { 'content-type': 'application/merge-patch+json' },
    }),
    { status: 200, json: { meta: { matched: 2 } } },
  );
  t.same(
    (await Promise.all(tasks.map(get))).map(({ watcherIds }) => watcherIds),
    [[ann], [ann]],
  );
  const found = async (query: string) => (await send('GET', `/tasks?${query}`)).json.data.length;
  t.equal(await found(`filter[watcherIds][has]=${ann}`), 2);
  t.equal(await found('filter[watchers][some][name]=Ann'), 2);
  t.equal(await found('filter[watchers][none][name]=Ann'), 0);
  t.equal(await found(`filter[watcherIds][any]=${ann},${MISSING}`), 2);
  const operations = [
    { method: 'DELETE', path: `/people/${ann}` },
    { method: 'GET', path: `/tasks/${tasks[0]}` },
  ];
  t.match((await send('POST', '/batch', { body: operations })).text, /"watcherIds":\[\]/);
  t.same(await faults(databaseUrl), [4]);
});
