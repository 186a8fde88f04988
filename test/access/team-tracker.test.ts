import type { JsonObject } from '../../src/json.js';
import t from '../support/test.js';
import { openTracker } from './open-tracker.js';

t.test('members of a team see its records and no others, in every form', async (t) => {
  const { operator, made, user, stranger } = await openTracker(t);
  const [ann, bob, eve] = [await user('ann'), await user('bob'), await user('eve')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  const other = await made('/teams', { name: 'Two', ownerId: eve.id });
  await made('/memberships', { teamId: team, userId: ann.id, role: 'owner' });
  await made('/memberships', { teamId: team, userId: bob.id, role: 'member' });
  await made('/memberships', { teamId: other, userId: eve.id, role: 'owner' });
  const project = await made('/projects', { title: 'Roof', teamId: team }, ann.call);
  const foreign = await made('/projects', { title: 'Vault', teamId: other }, eve.call);
  const issue = await made('/issues', { title: 'Leak', projectId: project, secret: 'x1' }, ann.call);
  const hidden = await made('/issues', { title: 'Robbery', projectId: foreign, estimate: 5 }, eve.call);
  await made('/comments', { text: 'Bring a bucket', issueId: issue, authorId: bob.id }, bob.call);

  t.match(await ann.call('GET', `/issues/${issue}`), { status: 200, json: { secret: 'x1' } });
  const seen = await bob.call('GET', `/issues/${issue}`);
  t.equal(seen.status, 200);
  t.equal(seen.json.secret, undefined);
  for (const path of [`/issues/${hidden}`, `/projects/${foreign}/issues`, `/projects/${foreign}`])
    t.equal((await bob.call('GET', path)).status, 404, path);
  t.match(await bob.call('GET', '/issues'), {
    status: 200,
    json: { meta: { total: 1 }, data: [{ id: issue }] },
  });
  t.match(await operator('GET', '/issues'), { json: { meta: { total: 2 } } });
  t.equal((await stranger('GET', '/issues')).status, 401);
  for (const query of [
    'filter[title]=Robbery',
    'search=Robbery&page=1',
    'filter[estimate][gte]=1',
    'filter[secret]=x1',
    'filter[project][title]=Vault',
    'filter[project][team][name]=Two',
  ])
    t.match(await bob.call('GET', `/issues?${query}`), { status: 200, json: { meta: { total: 0 } } }, query);
  t.match(await ann.call('GET', '/issues?filter[secret]=x1'), { json: { meta: { total: 1 } } });
  t.match(await bob.call('GET', '/issues?group=secret'), { json: { data: [{ secret: null, count: 1 }] } });
  t.match(await bob.call('GET', '/users?include=issues.count'), { json: { data: [] } });
  t.match(await bob.call('GET', '/projects?include=issues,team.memberships.count'), {
    json: {
      data: [{ _included: { issues: [{ id: issue }], team: { _included: { 'memberships.count': 2 } } } }],
    },
  });
  const lines = await bob.call('GET', '/issues', undefined, { Accept: 'application/x-ndjson' });
  t.notMatch(lines.text, /x1|Robbery/);
  t.match(lines.text, 'Leak');
  const csv = await bob.call('GET', '/issues', undefined, { Accept: 'text/csv' });
  t.notMatch(csv.text, /x1|Robbery/);
  const v2 = await bob.call('GET', '/api/v2/issues?limit=1&sort=title');
  t.match(v2.json, { data: [{ id: issue }], meta: { limit: 1 } });
  t.equal(v2.json.data.length, 1);
  t.notMatch(v2.text, /x1|Robbery/);
});

t.test('writes are checked before and after the change', async (t) => {
  const { made, user } = await openTracker(t);
  const [ann, bob, eve] = [await user('ann'), await user('bob'), await user('eve')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id }, ann.call);
  const other = await made('/teams', { name: 'Two', ownerId: eve.id }, eve.call);
  await made('/memberships', { teamId: team, userId: ann.id, role: 'owner' }, ann.call);
  await made('/memberships', { teamId: team, userId: bob.id, role: 'member' }, ann.call);
  await made('/memberships', { teamId: other, userId: eve.id, role: 'owner' }, eve.call);
  const project = await made('/projects', { title: 'Roof', teamId: team }, ann.call);
  const foreign = await made('/projects', { title: 'Vault', teamId: other }, eve.call);
  const issue = await made('/issues', { title: 'Leak', projectId: project, secret: 'x1' }, ann.call);
  const theirs = await made('/issues', { title: 'Robbery', projectId: foreign }, eve.call);
  const patch = (by: typeof bob, path: string, json: JsonObject, headers = {}) =>
    by.call('PATCH', path, json, headers);

  t.match(await bob.call('POST', '/memberships', { teamId: other, userId: bob.id, role: 'owner' }), {
    status: 422,
    json: { error: { code: 'TEAM_NOT_FOUND' } },
  });
  t.match(await bob.call('POST', `/teams/${other}/memberships`, { userId: bob.id, role: 'owner' }), {
    status: 404,
  });
  t.match(await bob.call('POST', '/memberships', { teamId: team, userId: eve.id, role: 'owner' }), {
    status: 403,
    json: { error: { code: 'ACCESS_DENIED' } },
  });
  t.match(await bob.call('POST', '/issues', { title: 'A', projectId: foreign }), { status: 422 });
  t.match(await bob.call('POST', '/issues', { title: 'A', projectId: project, secret: 's' }), {
    status: 403,
    json: { error: { code: 'FIELDS_DENIED', details: [{ path: '/secret' }] } },
  });
  t.match(await patch(bob, `/issues/${issue}`, { title: 'Leaks' }), {
    status: 200,
    json: { title: 'Leaks' },
  });
  t.match(
    await ann.call('GET', `/issues/${issue}`),
    { json: { title: 'Leaks', secret: 'x1' } },
    'hidden fields remain',
  );
  t.match(await patch(bob, `/issues/${issue}`, { secret: 'mine' }), {
    status: 403,
    json: { error: { code: 'FIELDS_DENIED' } },
  });
  t.match(await patch(bob, `/issues/${issue}`, { projectId: foreign }), { status: 422 });
  t.match(await patch(bob, `/issues/${theirs}`, { title: 'Mine' }), { status: 404 });
  t.match(await patch(bob, `/issues/${issue}`, { blockedById: theirs }), { status: 422 });
  t.match(await bob.call('PUT', `/issues/${issue}`, { title: 'Put', projectId: project }), { status: 200 });
  t.match(await ann.call('GET', `/issues/${issue}`), { json: { title: 'Put', secret: 'x1' } });
  t.equal((await bob.call('DELETE', `/issues/${issue}`)).status, 403);
  t.equal((await bob.call('DELETE', `/issues/${theirs}`)).status, 204, 'as for a record that does not exist');
  t.equal((await eve.call('GET', `/issues/${theirs}`)).status, 200);
  t.match(await bob.call('DELETE', '/issues?filter[title][ne]=x', undefined, {}), { status: 403 });
  t.match(await eve.call('DELETE', '/issues?filter[title][ne]=x', undefined, {}), {
    status: 200,
    json: { meta: { matched: 1 } },
  });
  t.match(
    await patch(bob, `/issues/${issue}`, { title: 'Old' }, { 'If-Match': '"1"' }).then((reply) => {
      t.notMatch(reply.text, 'x1');
      return reply;
    }),
    { status: 412 },
  );
  t.equal((await ann.call('DELETE', `/issues/${issue}`)).status, 204);
  t.equal((await ann.call('GET', `/issues/${issue}`)).status, 404);
});

t.test(
  'a caller that may read a record, and not change it, gets the 403 of each write whatever its preconditions are',
  async (t) => {
    const { made, user } = await openTracker(t);
    const [ann, bob] = [await user('ann'), await user('bob')];
    const team = await made('/teams', { name: 'One', ownerId: ann.id });
    await made('/memberships', { teamId: team, userId: bob.id, role: 'guest' });
    const project = await made('/projects', { title: 'Roof', teamId: team });
    const issue = await made('/issues', { title: 'Leak', projectId: project });
    t.equal((await bob.call('GET', `/issues/${issue}`)).status, 200);
    const whole = { title: 'Mine', projectId: project };
    for (const [method, body] of [['PATCH', { title: 'Mine' }], ['PUT', whole], ['DELETE']] as const)
      for (const tag of [undefined, '"1"', '"99"', '*'])
        t.match(
          await bob.call(method, `/issues/${issue}`, body, tag === undefined ? {} : { 'If-Match': tag }),
          { status: 403, json: { error: { code: 'ACCESS_DENIED' } } },
          `${method} with ${tag}`,
        );
    const outdated = await bob.call('PATCH', `/issues/${issue}`, { title: 'Mine', _version: 99 });
    t.match(outdated, { status: 403, json: { error: { code: 'ACCESS_DENIED' } } });
  },
);

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
