import { setUserScopes } from '../../src/auth/user-scopes.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import t from '../support/test.js';
import { openTracker } from './open-tracker.js';
import { TEAM_TRACKER } from './team-tracker.js';

t.test('an operator sees which grants hold for a caller, and why others do not', async (t) => {
  const { service, made, user } = await openTracker(t);
  const [ann, bob] = [await user('ann'), await user('bob')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  await made('/memberships', { teamId: team, userId: ann.id, role: 'owner' });
  await made('/memberships', { teamId: team, userId: bob.id, role: 'guest' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const issue = await made('/issues', { title: 'Leak', projectId: project });
  const env = { DATABASE_URL: service.databaseUrl, COLLECTIONS: declare(t, TEAM_TRACKER) };
  const run = (...args: string[]) => plinth(t, ['access', 'explain', ...args], env);
  const ask = async (method: string, path: string, as: string, ...more: string[]) =>
    JSON.parse((await run('--json', '--as', as, ...more, method, path)).out);

  const path = `/issues/${issue}`;
  const read = await ask('GET', path, bob.id);
  t.match(read, {
    verb: 'read',
    permitted: true,
    fields: ['title', 'projectId', 'status', 'estimate', 'assigneeId', 'blockedById', 'text'],
    grants: [
      { grant: '/x-collection/access/0', holds: true, reason: null, failed: [] },
      {
        grant: '/x-collection/access/1',
        holds: false,
        reason: 'the record does not fulfil its conditions',
        failed: [
          { project: { team: { memberships: { some: { userId: '$caller', role: { in: ['owner'] } } } } } },
        ],
      },
      { grant: '/x-collection/access/5', holds: false, reason: 'needs the scope admin' },
    ],
  });
  t.match(await ask('POST', path, bob.id), {
    verb: 'create',
    permitted: null,
    grants: [{ holds: null }, { holds: null }, { holds: false }],
  });
  t.match(await ask('PATCH', path, bob.id), { verb: 'update', permitted: false });
  t.match(await ask('DELETE', path, bob.id), { verb: 'delete', permitted: false });
  t.match(await ask('GET', path, ann.id), { permitted: true, fields: null });
  t.match(await ask('PUT', path, ann.id), { permitted: true, fields: null });
  t.match(await ask('DELETE', path, ann.id), { permitted: true });
  t.match(await ask('GET', '/issues', ann.id), { verb: 'read', permitted: null });
  const machine = await ask('GET', path, 'reports', '--scopes', 'items:read');
  t.match(machine.grants[0], { holds: false, reason: 'needs the scope issues:read or self' });
  await setUserScopes(service.db, bob.id, ['admin']);
  t.match(await ask('DELETE', path, bob.id), { verb: 'delete', permitted: true });
  for (const wrong of ['/nothing', '/issues/x', `/projects/${project}/issues`])
    t.match(await run('--as', 'x', 'GET', wrong), { code: 64, err: /PATH must be that of a record/ }, wrong);
});

t.test('a command explains a request', async (t) => {
  const { service, made, user } = await openTracker(t);
  const [ann, bob] = [await user('ann'), await user('bob')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  const env = { DATABASE_URL: service.databaseUrl, COLLECTIONS: declare(t, TEAM_TRACKER) };
  const run = (...args: string[]) => plinth(t, ['access', 'explain', ...args], env);
  t.match(await run('--as', 'ann@example.com', 'GET', `/teams/${team}`), {
    code: 0,
    out: /^read: permitted\n {2}\/x-collection\/access\/0: holds\n/,
  });
  t.match(await run('--as', bob.id, 'PATCH', `/teams/${team}`), {
    code: 1,
    out: /^update: not permitted\n {2}\/x-collection\/access\/1: the record does not fulfil its conditions\n {4}\{"ownerId":"\$caller"\}\n/,
    err: /PATCH \/teams\/\S+ is not permitted/,
  });
  const { out } = await run('--as', bob.id, '--json', 'POST', '/teams');
  t.match(JSON.parse(out), { verb: 'create', permitted: null });
  t.equal((await run('--as', 'nobody@example.com', 'GET', '/teams')).code, 1);
  t.equal((await run('--as', bob.id, 'GET')).code, 64);
  t.equal((await run('GET', '/teams')).code, 64);
});
