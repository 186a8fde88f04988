import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { openTracker } from '../../access/open-tracker.js';
import { TEAM_TRACKER } from '../../access/team-tracker.js';
import { declaredService, valuesOf } from '../../support/callers.js';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import t from '../../support/test.js';

t.test('an operator sees which grants hold for a caller, and why others do not', async (t) => {
  const { service, operator, made, user } = await openTracker(t);
  const [ann, bob] = [await user('ann'), await user('bob')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  await made('/memberships', { teamId: team, userId: ann.id, role: 'owner' });
  await made('/memberships', { teamId: team, userId: bob.id, role: 'guest' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const issue = await made('/issues', { title: 'Leak', projectId: project });
  const ask = (path: string, as: string, more = '') =>
    operator('GET', `/access?path=${encodeURIComponent(path)}&as=${as}${more}`);

  const guest = await ask(`/issues/${issue}`, bob.id);
  t.equal(guest.status, 200, guest.text);
  t.match(guest.json, { collection: 'issues', id: issue });
  const [read, create, update, remove] = guest.json.access;
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
  t.match(create, { verb: 'create', permitted: null });
  t.same(valuesOf(create.grants, 'holds').slice(0, 3), [null, null, false]);
  t.match(update, { verb: 'update', permitted: false });
  t.match(remove, { verb: 'delete', permitted: false });
  const owner = await ask(`/issues/${issue}`, ann.id);
  const whole = { permitted: true, fields: null };
  t.match(owner.json.access, [whole, {}, whole, { permitted: true }]);
  t.match((await ask('/issues', ann.id)).json, { id: null, access: [{ verb: 'read', permitted: null }] });
  const machine = await ask(`/issues/${issue}`, 'reports', '&scopes=items:read');
  t.match(machine.json.access[0].grants[0], { holds: false, reason: 'needs the scope issues:read or self' });
  await setUserScopes(service.db, bob.id, ['admin']);
  t.match((await ask(`/issues/${issue}`, bob.id)).json.access[3], { verb: 'delete', permitted: true });
  t.equal((await bob.call('GET', `/access?path=/issues&as=${ann.id}`)).status, 403, 'for operators only');
  for (const query of [
    '',
    'path=/issues',
    'as=x',
    'path=/nothing&as=x',
    'path=/issues/x&as=x',
    `path=/projects/${project}/issues&as=x`,
  ])
    t.match(
      await operator('GET', `/access?${query}`),
      { status: 400, json: { error: { code: 'INVALID_QUERY' } } },
      query,
    );
});

t.test('without authentication everybody is an operator, and the document says so', async (t) => {
  const { send } = await declaredService(t, TEAM_TRACKER, { AUTH: 'none' });
  const { json } = await send('GET', '/openapi.json');
  t.ok(json.paths['/access'].get);
  const response = await send('GET', '/access?path=/issues&as=anyone');
  t.match(response, { status: 200, json: { collection: 'issues', id: null } });
});

t.test('a command explains a request', async (t) => {
  const { service, made, user } = await openTracker(t);
  const [ann, bob] = [await user('ann'), await user('bob')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  const env = { DATABASE_URL: service.databaseUrl, COLLECTIONS: declare(t, TEAM_TRACKER) };
  const run = (...args: string[]) => plinth(t, ['access', 'explain', ...args], env);
  const read = await run('--as', 'ann@example.com', 'GET', `/teams/${team}`);
  t.match(read, { code: 0, out: /^read: permitted\n {2}\/x-collection\/access\/0: holds\n/ });
  const update = await run('--as', bob.id, 'PATCH', `/teams/${team}`);
  t.match(update, { code: 1, err: /PATCH \/teams\/\S+ is not permitted/ });
  const failed =
    '/x-collection/access/1: the record does not fulfil its conditions\n    {"ownerId":"$caller"}\n';
  t.ok(update.out.startsWith(`update: not permitted\n  ${failed}`), update.out);
  const { out } = await run('--as', bob.id, '--json', 'POST', '/teams');
  t.match(JSON.parse(out), { verb: 'create', permitted: null });
  t.equal((await run('--as', 'nobody@example.com', 'GET', '/teams')).code, 1);
  t.equal((await run('--as', bob.id, 'GET')).code, 64);
  t.equal((await run('GET', '/teams')).code, 64);
});
