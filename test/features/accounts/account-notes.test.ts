import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import { byKey, makeKey } from '../../support/credentials.js';
import { folderOf } from '../../support/folder.js';
import { untilSent } from '../../support/mail-server.js';
import type { ServiceResponse } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { PageVisitor } from '../pages/visitor.js';
import { ANN, mailing } from './mailing.js';

t.jobs = 3;

const NEXT = 'ann.new@example.org';

type World = Awaited<ReturnType<typeof start>>;

/** A service that sends messages, with a user and the requests of an operator. */
async function start(t: Test, env: Record<string, string> = { AUTH: 'api-key' }) {
  const { service, mail, id } = await mailing(t, env);
  const { key } = await makeKey(service.db, { subject: 'operator', scopes: ['admin'] });
  const headers = env.AUTH === 'none' ? {} : byKey(key);
  const send = (method: string, path: string, body: unknown, type = 'application/json') =>
    service.send(method, path, { body: JSON.stringify(body), type, headers });
  return { service, mail, id, send };
}

/** The subjects and recipients of all messages, when nothing waits any more. */
async function notes({ service, mail }: World): Promise<string[]> {
  await untilSent(service);
  return mail.received.map(({ to, raw }) => `${to}: ${/^Subject: (.*)$/m.exec(raw)![1]!.trim()}`);
}

const MOVED = [`${ANN}: Your account for api.example.org has another address`];

const OPERATIONS = [{ op: 'replace', path: '/email', value: NEXT }];
const WAYS: Readonly<Record<string, (world: World) => Promise<ServiceResponse>>> = {
  PATCH: ({ send, id }) => send('PATCH', `/users/${id}`, { email: NEXT }),
  'a merge patch': ({ send, id }) =>
    send('PATCH', `/users/${id}`, { email: NEXT }, 'application/merge-patch+json'),
  'a JSON Patch': ({ send, id }) => send('PATCH', `/users/${id}`, OPERATIONS, 'application/json-patch+json'),
  PUT: ({ send, id }) => send('PUT', `/users/${id}`, { email: NEXT, name: 'Ann' }),
  'a batch': ({ send, id }) =>
    send('POST', '/batch', [{ method: 'PATCH', path: `/users/${id}`, body: { email: NEXT } }]),
};

for (const [way, change] of Object.entries(WAYS))
  t.test(`the former address gets a note of a change by ${way}`, async (t) => {
    const world = await start(t);
    t.equal((await change(world)).status, 200);
    t.same(await notes(world), MOVED);
    t.equal((await world.send('PATCH', `/users/${world.id}`, { name: 'Ann B', email: NEXT })).status, 200);
    t.same(await notes(world), MOVED, 'an unchanged address sends no note');
  });

t.test('the former address gets a note of a change by a form', async (t) => {
  const world = await start(t, { AUTH: 'none' });
  const visitor = new PageVisitor(world.service);
  const form = await visitor.get(`/users/${world.id}?_edit`);
  t.equal((await visitor.submit(t, form, 'Save', { '/email': NEXT, '/name': 'Ann' })).status, 303);
  t.same(await notes(world), MOVED);
});

t.test('the former address gets a note of a change by an import, and json-server', async (t) => {
  const world = await start(t, { AUTH: 'none', COMPAT: 'json-server' });
  const folder = folderOf(t);
  const file = join(folder, 'users.ndjson');
  writeFileSync(file, `${JSON.stringify({ id: world.id, email: NEXT, name: 'Ann' })}\n`);
  const args = ['import', 'users', file, '--on-conflict', 'replace'];
  t.match(await plinth(t, args, { DATABASE_URL: world.service.databaseUrl }), { code: 0, err: '' });
  t.same(await notes(world), MOVED);
  t.equal((await world.send('PATCH', `/users/${world.id}`, { email: ANN })).status, 200);
  t.same(await notes(world), [...MOVED, MOVED[0]!.replace(ANN, NEXT)]);
});

t.test('a note is not sent for the first way to sign in, and is for each later change', async (t) => {
  const world = await start(t);
  const { service, send, id } = world;
  const link = `insert into plinth_user_links values ('https://login.example.org', $2, $1, '')`;
  t.same(await notes(world), [], 'a new user with a password');
  const { json } = await send('POST', '/users', { email: 'bob@example.org', name: 'Bob' });
  await service.db.run(link, [json.id, 'bob']);
  t.same(await notes(world), [], 'a user of another issuer');
  const password = `${ANN}: Your password for api.example.org was changed`;
  const factors = `${ANN}: Your sign-in for api.example.org was changed`;
  const changes: readonly [note: string, change: () => Promise<unknown>][] = [
    [password, () => send('PATCH', `/users/${id}`, { password: 'another long passphrase of mine' })],
    [factors, () => service.db.run(link, [id, 'ann'])],
    [factors, () => service.db.run(`insert into passkeys values ('k', $1, '', 0, '')`, [id])],
    [factors, () => service.db.run('delete from passkeys where user_id = $1', [id])],
    [factors, () => service.db.run(`insert into plinth_totp values ($1, '', 0)`, [id])],
    [factors, () => service.db.run('delete from plinth_totp where user_id = $1', [id])],
  ];
  const expected: string[] = [];
  for (const [note, change] of changes) {
    await change();
    t.same(await notes(world), [...expected, note]);
    expected.push(note);
  }
});

t.test('an account cannot flood its former addresses, and old changes send no note', async (t) => {
  const world = await start(t);
  const { service, send, id } = world;
  for (let at = 0; at < 6; at++)
    t.equal((await send('PATCH', `/users/${id}`, { email: `ann.${at}@example.org` })).status, 200);
  t.equal((await notes(world)).length, 3);
  const old = `insert into plinth_account_log (user_id, change, at, recipient) select $1, 'password', now() - interval '2 days', '${ANN}'`;
  await service.db.run(old, [id]);
  t.equal((await notes(world)).length, 3);
});

t.test('many other changes do not begin the three notes of an hour again', async (t) => {
  const world = await start(t);
  const { service, id } = world;
  const change = `select plinth_log_change($1, $2, '${ANN}') from generate_series(1, $3)`;
  for (let at = 0; at < 3; at++) {
    await service.db.run(change, [id, 'password', 3]);
    await service.db.run(change.replace(`'${ANN}'`, 'null'), [id, 'sign-in', 60]);
    t.equal((await notes(world)).length, 1, 'the three of an hour are one message');
  }
  t.equal((await service.db.run('select from plinth_account_log', [])).length, 53, 'the log is bounded');
});

t.test('the note of a changed password is sent after many sign-ins', async (t) => {
  const world = await start(t);
  const { service, id } = world;
  await service.db.transaction(async (run) => {
    await run('update passwords set version = version + 1 where user_id = $1', [id]);
    await run(`select plinth_log_change($1, 'sign-in', null) from generate_series(1, 51)`, [id]);
  });
  t.same(await notes(world), [`${ANN}: Your password for api.example.org was changed`]);
});
