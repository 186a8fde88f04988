import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentOf } from '../support/command.js';
import { HOSTS, type ServiceProcess, startNode, startProcess } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import { openSql, SCHEMA } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';
import { buildCommit, migrationsSince, previousCommit } from './previous-version.js';
import { eventsAfter } from './records.js';
import { startUpgradeLoad } from './upgrade-load.js';

const COLLECTIONS = fileURLToPath(new URL('../../../collections/', import.meta.url));
/** Requests after each step, so that it is seen under load. */
const ENOUGH = 60;

const commit = previousCommit();
const skip =
  commit === undefined
    ? 'there is no previous version: the history of this clone does not have the commit before the newest migration'
    : false;

/** Declarations of the new version: it has a further collection, and no posts any more. */
function writeDeclarations(folder: string): string {
  for (const name of ['users.json', 'items.json']) copyFileSync(join(COLLECTIONS, name), join(folder, name));
  const notes = { title: 'Note', type: 'object', properties: { text: { type: 'string', 'x-index': true } } };
  writeFileSync(join(folder, 'notes.json'), JSON.stringify(notes));
  return folder;
}

async function stop(t: Test, { child, ended, stderr }: ServiceProcess): Promise<void> {
  child.kill('SIGTERM');
  t.equal(await ended, 0);
  t.equal(stderr(), '');
}

async function tablesOf(url: string): Promise<string[]> {
  const sql = openSql(url, { max: 1 });
  const rows =
    await sql`select relname from pg_class where relnamespace = ${SCHEMA}::regnamespace and relkind = 'r'`;
  await sql.end();
  return rows.map(({ relname }) => String(relname));
}

t.test('clients miss nothing during an upgrade from the previous version', { skip }, async (t) => {
  const migrations = migrationsSince(commit!);
  t.comment(`from ${commit!.slice(0, 12)}: ${migrations.join(', ')}`);
  t.ok(migrations.length > 0);
  const folder = t.testdir({ previous: {}, collections: {} });
  const build = buildCommit(join(folder, 'previous'), commit!);
  const previousMain = await build.catch(({ message }: Error) => {
    t.comment(message);
    return undefined;
  });
  if (previousMain === undefined)
    return void t.pass('upgrade', { skip: 'the previous version cannot be built here' });
  const databaseUrl = await testDatabase(t, true);
  const env = { DATABASE_URL: databaseUrl, PORT: '0', ALLOWED_HOSTS: HOSTS, LOG_LEVEL: 'warn' };
  // The previous version reads its own declarations: the present ones may have keywords that it does not know.
  const declared = { COLLECTIONS: join(folder, 'previous/collections') };
  const startPrevious = () => startNode(t, [previousMain], { ...env, ...declared });
  const previous = startPrevious();
  const previousUrl = await previous.ready().catch((error: Error) => {
    if (error.message.includes('ERR_MODULE_NOT_FOUND')) return undefined;
    throw error;
  });
  if (previousUrl === undefined)
    return void t.pass('upgrade', { skip: 'the previous version needs packages that are not installed' });
  const load = startUpgradeLoad(t, [previousUrl]);
  await load.goesOn(ENOUGH);

  // Expand and migrate: only what the previous version does without.
  const current = { ...env, COLLECTIONS: writeDeclarations(join(folder, 'collections')) };
  const { steps, not_done } = await documentOf(t, ['migrate'], current);
  t.ok(steps.length > 0 && not_done.length === 1, 'posts stay for now');
  await load.goesOn(ENOUGH);
  const second = startPrevious();
  load.bases.push(await second.ready());
  await load.goesOn(ENOUGH);
  t.pass('the previous version starts on the new schema');
  const next = startProcess(t, current);
  const nextUrl = await next.ready();
  load.bases.push(nextUrl);
  await load.goesOn(ENOUGH);
  t.equal((await send(nextUrl, 'POST', '/notes', { body: { text: 'new' } })).status, 201);
  t.equal((await send(previousUrl, 'GET', '/posts?page=1')).status, 200);

  // One ends while clients still use it, the other after they were directed elsewhere.
  await stop(t, previous);
  await load.goesOn(ENOUGH);
  load.bases.splice(0, 2);
  await stop(t, second);
  await load.goesOn(ENOUGH);

  // Contract: what only the previous version needs.
  t.ok((await tablesOf(databaseUrl)).includes('posts'));
  await documentOf(t, ['migrate', '--allow-drop'], current);
  t.notOk((await tablesOf(databaseUrl)).includes('posts'));
  await load.goesOn(ENOUGH);
  await load.stop();

  t.comment(`statuses: ${JSON.stringify(Object.fromEntries(load.statuses))}, repeats: ${load.repeats()}`);
  t.same([...load.faults], []);
  t.ok(load.repeats() > 0, 'some requests were repeated to the other version');
  t.equal(load.unknownCursors(), 0, 'the previous version knows cursors of this one', {
    todo: load.unknownCursors() > 0 && 'this version gives cursors that the previous one cannot read',
  });
  const feed = await until('all events are final', async () => {
    const { events } = await eventsAfter(nextUrl);
    const items = events.filter(({ type }) => type === 'items.updated');
    return items.length >= load.items.size && events;
  });
  const created = (type: string) => feed.filter((event) => event.type === `${type}.created`);
  const subjects = (type: string) => created(type).map(({ subject }) => subject);
  t.same(
    subjects('items').sort(),
    [...load.items].sort(),
    'each acknowledged item was created once, and no other',
  );
  t.same(
    subjects('users').sort(),
    [...load.users].sort(),
    'each acknowledged user was created once, and no other',
  );
  const found = await Promise.all([...load.items].map((path) => send(nextUrl, 'GET', path)));
  t.same(new Set(found.map(({ status, json }) => `${status} ${json._version}`)), new Set(['200 2']));
  const total = (await send(nextUrl, 'GET', '/items?page=1&limit=1')).json.meta.total;
  t.equal(total, load.items.size);

  const relevant = feed.filter(({ type }) => /^(users|items)\./.test(type)).map(({ id }) => id);
  await load.readRest(nextUrl);
  t.same(
    load.read,
    relevant,
    'a reader that went from version to version missed no event and read none twice',
  );
  await stop(t, next);

  // Back to the previous version, on a database that the new one has made.
  const newUrl = await testDatabase(t, true);
  await documentOf(t, ['migrate'], { ...env, ...declared, DATABASE_URL: newUrl });
  const goneBack = startNode(t, [previousMain], { ...env, ...declared, DATABASE_URL: newUrl });
  const user = { name: 'Ann', email: 'ann@example.org' };
  t.equal((await send(await goneBack.ready(), 'POST', '/users', { body: user })).status, 201);
  await stop(t, goneBack);
});
