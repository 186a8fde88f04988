import postgres from 'postgres';
import t from 'tap';
import { openCollection } from '../../src/collection/collection.js';
import type { Resource } from '../../src/collection/resource.js';
import { collectionRoutes } from '../../src/routes.js';
import { testDatabase, testService } from '../support/service.js';

const notes: Resource = {
  name: 'notes',
  singular: 'note',
  schema: { type: 'object', required: ['text'], properties: { text: { type: 'string', minLength: 1 } } },
  normalize: { text: ['trim'] },
  columns: {},
  children: [],
  list: 'array',
  direction: 'asc',
  sortable: {},
  requireIfMatch: true,
  absent: 'empty',
};

t.test('a collection is a table and a declaration', async (t) => {
  const databaseUrl = await testDatabase(t);
  const sql = postgres(databaseUrl, { max: 1 });
  await sql.unsafe(`
    create table notes (id uuid primary key, version integer not null default 1, updated_at timestamptz not null,
      doc text not null);
    create trigger notes_inserted after insert on notes
      referencing new table as changed for each statement execute function count_inserted();
    create trigger notes_deleted after delete on notes
      referencing old table as changed for each statement execute function count_deleted()`);
  await sql.end();
  const settings = {
    bodyLimit: 1_048_576,
    requireIfMatch: false,
    tombstones: false,
    idempotencyTtlSeconds: 60,
    batchBytes: 4_194_304,
    responseBytes: 268_435_456,
  };
  const { send } = await testService(t, { DATABASE_URL: databaseUrl }, {}, async (db) =>
    collectionRoutes(db, await openCollection(db, notes, false), settings),
  );
  const created = await send('POST', '/api/v1/notes', { body: { text: ' hello ', tag: 1 } });
  t.match(created, { status: 201, json: { text: 'hello', tag: 1, _version: 1 } });
  const path = created.headers.location!;
  t.match((await send('POST', '/notes', { body: {} })).json.errors, [{ path: '/text' }]);
  t.equal((await send('PATCH', path, { body: { tag: 2 } })).status, 428, 'its declaration demands If-Match');
  t.match(await send('PATCH', path, { body: { tag: 2 }, headers: { 'if-match': '"1"' } }), {
    status: 200,
    json: { tag: 2 },
  });
  t.match((await send('GET', '/notes')).json, [{ text: 'hello' }]);
  t.match((await send('GET', '/notes?page=1')).json.meta, { total: 1 });
  t.equal((await send('DELETE', path, { headers: { 'if-match': '"2"' } })).status, 204);
  t.equal((await send('GET', path)).status, 404);
});

t.test('a declaration that does not fit the schema stops the start', async (t) => {
  const { db } = await testService(t);
  await t.rejects(openCollection(db, notes, false), /relation "notes" does not exist/);
});

t.test('a fault of ours is a 500 with the request id, and tells nothing else', async (t) => {
  const service = await testService(t);
  const { json } = await service.send('POST', '/items', { body: { name: 'x' } });
  const sql = postgres(service.databaseUrl, { max: 1 });
  await sql.unsafe('alter table items rename column doc to document');
  const answer = await service.send('GET', `/items/${json.id}`, { headers: { 'x-request-id': 'abc' } });
  t.equal(answer.status, 500);
  t.same(answer.json.error.details, { requestId: 'abc' });
  t.notMatch(answer.text, /column|document|select/);
  t.match(
    (await service.send('GET', `/items/${json.id}`, { headers: { accept: 'application/problem+json, */*' } }))
      .json,
    {
      status: 500,
      code: 'INTERNAL_ERROR',
      requestId: /./,
    },
  );
  await sql.unsafe('alter table items rename column document to doc');
  await sql.end();
  t.equal((await service.send('GET', `/items/${json.id}`)).status, 200);
});
