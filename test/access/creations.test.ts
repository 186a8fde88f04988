import type { JsonObject } from '../../src/json.js';
import { withAccess } from '../support/declared.js';
import t from '../support/test.js';
import { until } from '../support/until.js';
import { openTracker } from './open-tracker.js';

const MISSING = '00000000-0000-7000-8000-000000000000';

/** A collection whose columns have names that statements could use for what callers have. */
const SEATS: JsonObject = withAccess(
  Object.fromEntries(
    ['place', 'grants', 'reading', 'readable', 'value_0', 'ownerId'].map((name) => [
      name,
      { type: 'string', 'x-index': true },
    ]),
  ),
  [{ can: 'all', where: { ownerId: '$caller', place: { ne: 'none' } } }],
);

t.test('creations of several callers share statements, and each has the outcome of one', async (t) => {
  const { operator, made, user } = await openTracker(t);
  const [ann, bob, kim, eve] = await Promise.all([user('ann'), user('bob'), user('kim'), user('eve')]);
  const project = await made('/projects', {
    title: 'plan',
    teamId: await made('/teams', { name: 'one', ownerId: ann.id }),
  });
  const other = await made('/projects', {
    title: 'other',
    teamId: await made('/teams', { name: 'two', ownerId: eve.id }),
  });
  const foreign = await made('/issues', { title: 'of another team', projectId: other });
  const { teamId } = (await operator('GET', `/projects/${project}`)).json;
  await made('/memberships', { role: 'owner', teamId, userId: ann.id });
  await made('/memberships', { role: 'member', teamId, userId: bob.id });
  await made('/memberships', { role: 'guest', teamId, userId: kim.id });

  type Case = readonly [typeof ann, JsonObject, ...expected: unknown[]];
  const cases: readonly Case[] = [
    [ann, { title: 'by ann', secret: 's' }, 201, 's'],
    [bob, { title: 'by bob', assigneeId: kim.id }, 201, undefined],
    [bob, { title: 'by bob', secret: 's' }, 403, 'FIELDS_DENIED', '/secret'],
    [kim, { title: 'by kim' }, 403, 'ACCESS_DENIED', undefined],
    [eve, { title: 'by eve' }, 422, 'PROJECT_NOT_FOUND', '/projectId'],
    [eve, { title: 'by eve', secret: 's' }, 422, 'PROJECT_NOT_FOUND', '/projectId'],
    [bob, { title: 'by bob', blockedById: foreign }, 422, 'ISSUE_NOT_FOUND', '/blockedById'],
    [kim, { title: 'by kim', assigneeId: MISSING }, 422, 'USER_NOT_FOUND', '/assigneeId'],
    [bob, { title: 5, secret: 's' }, 400, 'VALIDATION_ERROR', '/title'],
  ];
  const send = async ([by, fields]: Case) => {
    const { status, json } = await by.call('POST', '/issues', { projectId: project, ...fields });
    if (status === 201) return [status, json.secret];
    const [details] = [json.error.details].flat();
    return [status, json.error.code, details?.path];
  };
  for (const each of cases) t.same(await send(each), each.slice(2), JSON.stringify(each[1]));
  const many = Array.from({ length: 8 }, () => cases).flat();
  t.same(
    await Promise.all(many.map(send)),
    many.map((each) => each.slice(2)),
  );

  const { text } = await operator('GET', '/metrics');
  const [sizes] = /^plinth_db_batch_size_count.*operation="create with rules".*$/m.exec(text) ?? [];
  t.ok(Number(sizes?.split(' ').at(-1)) < many.length, `a statement creates several records: ${sizes}`);

  const { json: events } = await until(
    'the events are final',
    () => operator('GET', '/events?types=issues.created&limit=1000'),
    ({ json }) => json.data.length === 1 + 9 * 2,
  );
  const created = (events.data as { actor: string; data: { title: string } }[]).slice(1);
  for (const { actor, data } of created) t.equal(actor, data.title === 'by ann' ? ann.id : bob.id);
  const found = await bob.call('GET', '/issues?limit=100');
  t.same([found.json.meta.total, found.json.data.filter((each: JsonObject) => each.secret)], [9 * 2, []]);
});

t.test('a conflict fails the creation that has it, and no other one of its statement', async (t) => {
  const { made, user } = await openTracker(t);
  const [ann, bob] = await Promise.all([user('ann'), user('bob')]);
  const teamId = await made('/teams', { name: 'one', ownerId: ann.id });
  const users = await Promise.all(['kim', 'eve', 'joe'].map(async (name) => (await user(name)).id));
  const replies = await Promise.all(
    [...users, ...users].map((userId) => ann.call('POST', '/memberships', { role: 'guest', teamId, userId })),
  );
  t.same(replies.map(({ status }) => status).sort(), [201, 201, 201, 409, 409, 409]);
  for (const { status, json } of replies)
    if (status === 409) t.same(json.error.details, { fields: ['teamId', 'userId'] });
  const denied = await bob.call('POST', '/memberships', { role: 'guest', teamId, userId: users[0]! });
  t.equal(denied.status, 422, 'the rules come before the conflict');
});

t.test('fields may have any name', async (t) => {
  const { user } = await openTracker(t, { 'seats.json': SEATS });
  const [ann, bob] = await Promise.all([user('ann'), user('bob')]);
  const fields = { place: 'first', grants: 'all', reading: 'a', readable: 'b', value_0: 'c' };
  const replies = await Promise.all(
    [ann, bob, ann, bob].map(({ id, call }) => call('POST', '/seats', { ...fields, ownerId: id })),
  );
  for (const { status, json } of replies) t.match([status, json], [201, fields]);
  const changed = await ann.call('PATCH', `/seats/${replies[0]!.json.id}`, { grants: 'one' });
  t.match([changed.status, changed.json], [200, { ...fields, grants: 'one' }]);
  t.equal((await ann.call('POST', '/seats', { ...fields, ownerId: bob.id })).status, 403);
});
