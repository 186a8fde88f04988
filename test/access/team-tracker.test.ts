import t from '../support/test.js';
import { openTracker } from './open-tracker.js';

t.test('a field that no grant names gets no value, and not null either', async (t) => {
  const { made, user, operator } = await openTracker(t);
  const [ann, bob] = [await user('ann'), await user('bob')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  await made('/memberships', { teamId: team, userId: bob.id, role: 'member' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const issue = await made('/issues', { title: 'Leak', projectId: project });
  const add = { op: 'add', path: '/remark', value: null };
  for (const [method, path, body, type] of [
    ['POST', '/issues', { title: 'Hole', projectId: project, remark: null }],
    ['PATCH', `/issues/${issue}`, { remark: null }],
    ['PATCH', `/issues/${issue}`, [add], 'application/json-patch+json'],
    ['PUT', `/issues/${issue}`, { title: 'Leak', projectId: project, remark: null }],
  ] as const)
    t.match(await bob.call(method, path, body, { 'Content-Type': type ?? 'application/json' }), {
      status: 403,
      json: { error: { code: 'FIELDS_DENIED', details: [{ path: '/remark' }] } },
    });
  t.match(await operator('GET', '/issues'), { json: { meta: { total: 1 }, data: [{ _version: 1 }] } });
  const removal = await bob.call('PATCH', `/issues/${issue}`, { text: null });
  t.match(removal, { status: 200 }, 'a field with a rule has null as if it were absent');
});
