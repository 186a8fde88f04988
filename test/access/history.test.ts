import { prune } from '../../src/db/maintenance.js';
import type { JsonObject } from '../../src/json.js';
import { type Call, openForCallers, valuesOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { ADMIN, declared, text, withAccess } from '../support/declared.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import { RETENTION, type ServiceResponse } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const properties: JsonObject = {
  title: text,
  status: { ...text, enum: ['draft', 'open', 'closed'] },
  secret: text,
};
const FILES = {
  'notes.json': declared(properties, { history: true }),
  'plain.json': declared(properties),
  'issues.json': withAccess(
    properties,
    [{ can: 'read', where: { status: { in: ['open', 'closed'] } }, fields: ['title', 'status'] }, ADMIN],
    { history: true },
  ),
};

async function open(t: Test, more: Record<string, string> = {}) {
  const { service, as, admin: operator, made } = await openForCallers(t, FILES, more);
  return { service, as, operator, made };
}

/** The versions in the pages of a history. */
async function versionsIn(call: Call, path: string, limit: number): Promise<number[]> {
  const versions: number[] = [];
  let next: string | null = `${path}/history?limit=${limit}`;
  for (let pages = 0; next !== null && pages < 10; pages++) {
    const { json }: ServiceResponse = await call('GET', next);
    versions.push(...(valuesOf(json.data, 'version') as number[]));
    next = json.links.next;
  }
  return versions;
}

t.test('the changes of a record are pages, the newest first', async (t) => {
  const { service, as, operator, made } = await open(t);
  const id = await made('/notes', { title: 'a' });
  const path = `/notes/${id}`;
  await operator('PATCH', path, { title: 'b', status: 'open' });
  await operator('PATCH', path, { status: null });
  const { status, json } = await operator('GET', `${path}/history`);
  t.equal(status, 200);
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
  t.match(json, { meta: { limit: 20 }, links: { self: `${path}/history?limit=20`, next: null } });
  const opened = { name: 'status', after: 'open' };
  t.match(json.data, [
    { type: 'notes.updated', version: 3, time, actor: 'root', changes: [{ name: 'status', before: 'open' }] },
    { version: 2, changes: [{ name: 'title', before: 'a', after: 'b' }, opened] },
    { type: 'notes.created', version: 1, changes: [{ name: 'title', after: 'a' }] },
  ]);
  t.same(await versionsIn(operator, path, 1), [3, 2, 1]);
  await service.db.run(
    "insert into events (type, record, version, data) select 'others.created', gen_random_uuid(), 1, '{}' from generate_series(1, 10001)",
    [],
  );
  const far = (await operator('GET', `${path}/history`)).json;
  t.same(far.data, [], 'a page examines a limited number of events');
  t.equal((await operator('GET', far.links.next)).json.data.length, 3);
  const { links } = (await operator('GET', `/api/v2${path}/history`)).json;
  t.equal(links.self, `/api/v2${path}/history?limit=20`);

  t.equal((await operator('GET', `/plain/${id}/history`)).status, 404);
  const absent = id.replace(/.$/, id.endsWith('0') ? '1' : '0');
  t.equal((await operator('GET', `/notes/${absent}/history`)).status, 404);
  t.equal((await operator('GET', `${path}/history?colour=red`)).json.error.code, 'UNKNOWN_PARAMETER');
  t.equal((await operator('GET', `${path}/history?after=x`)).status, 400);
  t.equal((await operator('POST', `${path}/history`, {})).status, 405);
  const [reader, other] = [await as('x', 'notes:read'), await as('y', 'plain:read')];
  t.equal((await reader('GET', `${path}/history`)).status, 200);
  t.equal((await other('GET', `${path}/history`)).status, 403);
  await operator('DELETE', path);
  t.equal((await operator('GET', `${path}/history`)).status, 404);
  const { paths } = (await operator('GET', '/openapi.json')).json;
  t.match(paths['/notes/{id}/history'], { get: { operationId: 'listNoteChanges' } });
  t.notOk(paths['/plain/{id}/history']);
});

t.test('a reader of a part learns no hidden values, and who made a change unless hidden', async (t) => {
  const { as, operator, made } = await open(t);
  const ann = await as('ann', 'self');
  const path = `/issues/${await made('/issues', { title: 'internal', status: 'draft', secret: 'one' })}`;
  t.equal((await ann('GET', `${path}/history`)).status, 404);
  for (const change of [
    { title: 'still internal' },
    { title: 'public', status: 'open' },
    { secret: 'two', title: 'known' },
    { secret: 'three' },
  ])
    t.equal((await operator('PATCH', path, change)).status, 200);
  const { json, text } = await ann('GET', `${path}/history`);
  const known = { name: 'title', before: 'public', after: 'known' };
  const opened = [
    { name: 'title', after: 'public' },
    { name: 'status', after: 'open' },
  ];
  const expected = [
    [5, []],
    [4, [known]],
    [3, opened],
  ];
  t.same(
    json.data.map(({ version, changes }: JsonObject) => [version, changes]),
    expected,
  );
  t.same(valuesOf(json.data, 'actor'), ['root', 'root', 'root']);
  t.notMatch(text, /internal|one|two|three/);
  t.equal((await operator('GET', `${path}/history`)).json.data.length, 5);
  await operator('PATCH', path, { status: 'draft' });
  t.equal((await ann('GET', `${path}/history`)).status, 404, 'it may not read the record now');
});

t.test('a collection may hide who made a change from readers of a part', async (t) => {
  const options = FILES['issues.json']['x-collection'] as JsonObject;
  const hidden = declared(properties, { ...options, actors: 'hidden' });
  const { service, as, admin, made } = await openForCallers(t, { 'issues.json': hidden });
  const ann = await as('ann', 'self', 'events:read');
  const id = await made('/issues', { title: 'a', status: 'open' });
  await whenEventsAreFinal(service);
  const rows: [Call, string?][] = [[admin, 'root'], [ann]];
  for (const [call, actor] of rows) {
    t.equal((await call('GET', '/events?types=issues.*')).json.data[0].actor, actor);
    t.equal((await call('GET', `/issues/${id}/history`)).json.data[0].actor ?? undefined, actor);
    const page = await call('GET', `/issues/${id}`, undefined, { accept: 'text/html' });
    t.equal(/<li[^>]*><b>You<\/b> /.test(page.text), actor !== undefined);
  }
});

t.test('without events there is no history, and its path is free', async (t) => {
  const { operator, made } = await open(t, { EVENTS: 'off' });
  const id = await made('/notes', { title: 'a' });
  t.equal((await operator('GET', `/notes/${id}/history`)).status, 404);
  const history = declared({ noteId: { type: 'string', 'x-references': 'notes' } }, { nested: true });
  const COLLECTIONS = declare(t, { ...FILES, 'history.json': history } as never);
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS });
  t.equal(code, 78);
  t.match(err, /history\.json#\/x-collection\/nested: \/<parent>\/<id>\/history has the changes/);
});

t.test('a deleted record has no history, and with TOMBSTONES it is gone', async (t) => {
  for (const [TOMBSTONES, status] of Object.entries({ on: 410, off: 404 })) {
    const { service, made } = await open(t, { AUTH: 'none', TOMBSTONES });
    const id = await made('/notes', { title: 'a' });
    t.equal((await service.send('DELETE', `/notes/${id}`)).status, 204);
    t.equal((await service.send('GET', `/notes/${id}/history`)).status, status);
  }
});

t.test('changes stay as long as their record exists, when their events have expired', async (t) => {
  const { service, as, operator, made } = await open(t);
  const { run } = service.db;
  const expire = () => run('update events_floor set floor = (select max(seq) from events)', []);
  const stored = async () => Number((await run('select count(*) as rows from plinth_history', []))[0]!.rows);
  const ann = await as('ann', 'self');
  const paths: string[] = [];
  for (const collection of ['notes', 'issues', 'plain']) {
    const id = await made(`/${collection}`, { title: 'a', status: 'open', secret: 'x' });
    paths.push(`/${collection}/${id}`);
    for (const title of ['b', 'c', 'd']) await operator('PATCH', `/${collection}/${id}`, { title });
  }
  const [notes, issues, plain] = paths as [string, string, string];
  const read = async () => [
    (await operator('GET', `${notes}/history`)).json,
    (await operator('GET', `${issues}/history`)).json,
    (await ann('GET', `${issues}/history`)).json,
  ];
  const versions = () => versionsIn(operator, notes, 2);
  const before = await read();
  t.same([await stored(), await versions()], [0, [4, 3, 2, 1]]);
  await run('update events_floor set floor = (select max(seq) - 6 from events)', []);
  t.same(await read(), before, 'some events have expired');
  await expire();
  t.same(await read(), before, 'all have');
  // The collection without a history has no changes.
  t.same([await stored(), await versions()], [8, [4, 3, 2, 1]]);
  await operator('PATCH', notes, { title: 'e' });
  t.same(await versions(), [5, 4, 3, 2, 1]);
  await whenEventsAreFinal(service);
  const page = await operator('GET', notes, undefined, { accept: 'text/html' });
  const shown = [...page.text.matchAll(/<li id="version-(\d)">/g)].map(([, version]) => version);
  t.same(shown, ['5', '4', '3', '2', '1'], 'the page of the record shows them, too');
  t.equal((await operator('GET', plain)).status, 200);

  await run("update plinth_history set time = time - interval '1000 seconds' where version = 1", []);
  await prune(service.db, { ...RETENTION, historyRetentionSeconds: 500 });
  t.same(await versions(), [5, 4, 3, 2], 'HISTORY_RETENTION limits them');
  await operator('DELETE', notes);
  t.equal((await operator('GET', `${notes}/history`)).status, 404);
  t.equal(await stored(), 6);
  await expire();
  const collections = () => run('select distinct collection from plinth_history', []);
  t.same(await collections(), [{ collection: 'issues' }], 'nothing remains of a deleted record');
  await run("select plinth_rename_collection('issues', 'tasks')", []);
  t.same(await collections(), [{ collection: 'tasks' }]);
  await run("select plinth_forget_collection('tasks', null)", []);
  t.equal(await stored(), 0);
});
