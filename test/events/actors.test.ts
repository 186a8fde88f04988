import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACCEPT } from '../features/pages/visitor.js';
import { type Call, callersOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { reference, text } from '../support/declared.js';
import { freshService, type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const PROJECTS = { title: 'Project', type: 'object', properties: { name: { type: 'string' } } };
const TASKS = {
  title: 'Task',
  type: 'object',
  properties: {
    title: text,
    projectId: reference('projects'),
    noteId: reference('notes', 'null'),
    number: { type: 'integer', 'x-index': true },
    secret: { type: 'string', writeOnly: true },
  },
};
const NUMBERED = {
  ...TASKS,
  properties: { ...TASKS.properties, number: { ...TASKS.properties.number, 'x-set': { next: true } } },
};
const FILES = { 'projects.json': PROJECTS, 'notes.json': PROJECTS, 'tasks.json': TASKS };
const HISTORY = { ...TASKS, 'x-collection': { history: true } };

const callers = (service: TestService, ...subjects: string[]): Promise<Call[]> =>
  Promise.all(subjects.map((subject) => callersOf(service)(subject)));

const open = (t: Test, files: Readonly<Record<string, unknown>> = FILES) =>
  testService(t, { AUTH: 'api-key', COLLECTIONS: declare(t, files), MIGRATE: 'auto' });

/** The type and the actor of the events after a number of them, once they are final. */
async function eventsOf(ann: Call, types: string, count: number, after = 0) {
  const { json } = await until(
    'the events are final',
    () => ann('GET', `/events?types=${types}&limit=1000`),
    ({ json }) => json.data.length >= after + count,
  );
  return (json.data as { type: string; actor?: string; subject: string }[]).slice(after);
}

for (const [name, tasks] of Object.entries({ 'without numbers': TASKS, 'with numbers': NUMBERED }))
  t.test(`events name who made the change, in every kind of write ${name}`, async (t) => {
    const service = await open(t, { ...FILES, 'tasks.json': tasks });
    const [ann, bob] = (await callers(service, 'ann', 'bob')) as [Call, Call];
    const { id } = (await ann('POST', '/tasks', { title: 'a' })).json;
    const path = `/tasks/${id}`;
    await bob('PUT', path, { title: 'a' });
    await ann('PATCH', path, { title: 'b' });
    await bob('PUT', path, { title: 'c' }, { 'if-match': '"3"' });
    await ann('PATCH', '/tasks?filter[title]=c', { title: 'd' });
    await bob('POST', '/batch', [
      { method: 'PATCH', path, body: { title: 'e' } },
      { method: 'POST', path: '/tasks', body: { title: 'f' } },
    ]);
    await ann('POST', '/tasks', {}, { 'idempotency-key': 'k' });
    await bob('DELETE', path, undefined, { 'if-match': '*' });
    await ann('DELETE', '/tasks?filter[title]=f');
    const found = (await eventsOf(ann, 'tasks.*', 10)).map(({ type, actor }) => `${type.slice(6)} ${actor}`);
    t.same(found, [
      ...['created ann', 'updated bob', 'updated ann', 'updated bob', 'updated ann', 'updated bob'],
      ...['created bob', 'created ann', 'deleted bob', 'deleted ann'],
    ]);
  });

t.test('combined statements have an actor for each record', async (t) => {
  for (const tasks of [TASKS, NUMBERED]) {
    const service = await open(t, { ...FILES, 'tasks.json': tasks });
    const subjects = ['ann', '{"x":1}', '=', "it's", 'ä\\"'];
    const all = await callers(service, ...subjects);
    const made = await Promise.all(
      Array.from({ length: 200 }, (_, n) => all[n % all.length]!('POST', '/tasks', { title: 't' })),
    );
    const creators = new Map(made.map(({ json }, n) => [`/tasks/${json.id}`, subjects[n % all.length]]));
    const created = await eventsOf(all[0]!, 'tasks.created', 200);
    for (const { subject, actor } of created) t.equal(actor, creators.get(subject));
    await Promise.all(
      [...creators.keys()].map((path, n) =>
        all[(n + 1) % all.length]!('PUT', path, { title: 'u' }, { 'if-match': '"1"' }),
      ),
    );
    const changers = new Map([...creators.keys()].map((path, n) => [path, subjects[(n + 1) % all.length]]));
    const updated = await eventsOf(all[0]!, 'tasks.updated', 200);
    for (const { subject, actor } of updated) t.equal(actor, changers.get(subject));
  }
});

t.test('records that a deletion changes have its actor', async (t) => {
  const service = await open(t);
  const [ann, bob] = (await callers(service, 'ann', 'bob')) as [Call, Call];
  const project = (await ann('POST', '/projects', {})).json.id;
  const note = (await ann('POST', '/notes', {})).json.id;
  await ann('POST', '/tasks', { projectId: project, noteId: note });
  await bob('DELETE', `/notes/${note}`);
  await bob('DELETE', `/projects/${project}`);
  t.match(await eventsOf(ann, 'tasks.*', 3), [
    { type: 'tasks.created', actor: 'ann' },
    { type: 'tasks.updated', actor: 'bob' },
    { type: 'tasks.deleted', actor: 'bob' },
  ]);
});

t.test('events of unknown callers name none', async (t) => {
  const COLLECTIONS = declare(t, FILES);
  const { send, databaseUrl } = await testService(t, { COLLECTIONS, MIGRATE: 'auto' });
  t.equal((await send('POST', '/tasks', { body: {} })).status, 201);
  const file = join(COLLECTIONS, 'tasks.ndjson');
  writeFileSync(file, '{"title":"imported"}');
  t.equal((await plinth(t, ['import', 'tasks', file], { COLLECTIONS, DATABASE_URL: databaseUrl })).code, 0);
  const events = await until(
    'the events are final',
    () => send('GET', '/events'),
    ({ json }) => json.data.length === 2,
  );
  for (const event of events.json.data) t.notOk('actor' in event);
});

t.test('the page of a record shows who changed what', async (t) => {
  const service = await open(t, { ...FILES, 'tasks.json': HISTORY });
  const [ann, bob] = (await callers(service, 'ann', 'bob')) as [Call, Call];
  const { id } = (await ann('POST', '/tasks', { title: 'first', secret: 'concealed' })).json;
  const path = `/tasks/${id}`;
  await bob('PATCH', path, { title: 'second', secret: 'concealed too' });
  await ann('PATCH', path, { extra: { a: 1 } });
  await eventsOf(ann, 'tasks.*', 3);
  const page = async () =>
    (await ann('GET', path, undefined, { accept: ACCEPT })).text
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ');
  const shown = await page();
  t.match(shown, /You updated .* version 3 [eE]xtra: none → /);
  t.match(shown, /bob updated .* version 2 Title: first → second/);
  t.match(shown, /You created .* version 1/);
  t.notMatch(shown, /concealed/);
});

t.test('the history of a collection is declared later, and hidden values leave it', async (t) => {
  const env = { AUTH: 'api-key', MIGRATE: 'auto' };
  const first = await freshService(t, { ...env, COLLECTIONS: declare(t, FILES) });
  const [ann] = (await callers(first, 'ann')) as [Call];
  const { id } = (await ann('POST', '/tasks', { title: 'a' })).json;
  const { databaseUrl } = first;
  await first.stop();
  const start = async (tasks: object) => {
    const COLLECTIONS = declare(t, { ...FILES, 'tasks.json': tasks });
    const service = await freshService(t, { ...env, COLLECTIONS, DATABASE_URL: databaseUrl });
    const [caller] = (await callers(service, 'bob')) as [Call];
    return { service, caller };
  };
  const previous = async ({ db }: TestService) =>
    (await db.run("select previous from events where type like 'tasks.%' order by seq", [])).map((row) =>
      row.previous === null ? null : JSON.parse(String(row.previous)).title,
    );
  const second = await start(HISTORY);
  await second.caller('PATCH', `/tasks/${id}`, { title: 'b' });
  await second.caller('DELETE', `/tasks/${id}`);
  t.same(await previous(second.service), [null, 'a', 'b']);
  await second.service.stop();
  const title = { type: 'string', writeOnly: true };
  const third = await start({ ...TASKS, properties: { ...TASKS.properties, title } });
  t.same(await previous(third.service), [null, undefined, undefined], 'what becomes write-only is removed');
  const { id: other } = (await third.caller('POST', '/tasks', {})).json;
  await third.caller('PATCH', `/tasks/${other}`, { extra: 1 });
  t.same(await previous(third.service), [null, undefined, undefined, null, null], 'no longer declared');
});
