import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';
import type { Constants } from '../support/settings.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { untilAtLeast } from '../support/until.js';

const named = {
  type: 'object',
  properties: { name: { type: 'string', 'x-index': true, 'x-search': true } },
};
const FILES = { 'logs.json': { ...named, 'x-collection': { public: 'read' } }, 'notes.json': named };
const CSV = { accept: 'text/csv' };

/** A service with a record of each collection, of which strangers read the logs, and the key of another caller. */
async function open(t: Test, constants: Constants) {
  const COLLECTIONS = declare(t, FILES);
  const service = await testService(t, { AUTH: 'api-key', COLLECTIONS, MIGRATE: 'auto' }, constants);
  const { key } = await makeKey(service.db);
  const headers = { 'x-api-key': key };
  for (const name of ['logs', 'notes'])
    t.equal((await service.send('POST', `/${name}`, { headers, body: { name: 'a' } })).status, 201);
  return { ...service, key };
}

/** Runs work while no statement reads the logs, as if each were an expensive search. */
async function whileExpensive(t: Test, databaseUrl: string, work: () => Promise<void>): Promise<void> {
  const sql = sqlOf(t, databaseUrl);
  await sql.begin(async (run) => {
    await run`lock table logs in access exclusive mode`;
    await work();
  });
}

t.test('the streams of one caller leave one to others', async (t) => {
  const { send, db, databaseUrl, key } = await open(t, { dbStreams: 2 });
  let lists: Promise<{ status: number }>[] = [];
  await whileExpensive(t, databaseUrl, async () => {
    lists = Array.from({ length: 12 }, (_, at) =>
      send('GET', `/logs?search=${'a'.repeat(at + 1)}`, { headers: CSV }),
    );
    await untilAtLeast('one has begun', async () => db.metrics.active.of('stream').value, 1);
    const other = await send('GET', '/notes', { headers: { ...CSV, 'x-api-key': key } });
    t.match(other, { status: 200, text: /,a,|a/ }, 'the list of another caller');
    t.equal(db.metrics.active.of('stream').value, 1, 'the others wait for their turn');
  });
  for (const { status } of await Promise.all(lists)) t.equal(status, 200, 'each has its turn');
});

t.test('a list without rows in time is 503, and its connection is free for others', async (t) => {
  const { databaseUrl, key } = await open(t, {});
  const settings = { COLLECTIONS: declare(t, FILES), DATABASE_URL: databaseUrl, QUERY_TIMEOUT_MS: '100' };
  const service = await testService(t, { AUTH: 'api-key', ...settings }, { dbStreams: 1 });
  await whileExpensive(t, databaseUrl, async () => {
    for (const accept of ['text/csv', 'application/x-ndjson', 'application/json'])
      t.match(
        await service.send('GET', '/logs?search=a', { headers: { accept } }),
        { status: 503, json: { error: { code: 'QUERY_TIMEOUT' } } },
        accept,
      );
    t.equal((await service.send('GET', '/notes', { headers: { ...CSV, 'x-api-key': key } })).status, 200);
    const many = await Promise.all(
      Array.from({ length: 12 }, () => service.send('GET', '/logs', { headers: CSV })),
    );
    t.same([...new Set(many.map(({ status }) => status))], [503], 'the wait has an end as well');
  });
  t.equal((await service.send('GET', '/logs', { headers: CSV })).status, 200);
});
