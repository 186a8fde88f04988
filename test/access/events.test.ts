import type { JsonObject } from '../../src/json.js';
import { makeKey } from '../support/credentials.js';
import { ADMIN } from '../support/declared.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

import { openTracker } from './open-tracker.js';

/** A team with an owner and a member, and a team of another user, each with a project. */
async function openTeams(t: Parameters<typeof openTracker>[0]) {
  const tracker = await openTracker(t);
  const { made, user } = tracker;
  const [ann, bob, eve] = [await user('ann'), await user('bob'), await user('eve')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  const other = await made('/teams', { name: 'Two', ownerId: eve.id });
  await made('/memberships', { teamId: team, userId: ann.id, role: 'owner' });
  const membership = await made('/memberships', { teamId: team, userId: bob.id, role: 'member' });
  await made('/memberships', { teamId: other, userId: eve.id, role: 'owner' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const foreign = await made('/projects', { title: 'Vault', teamId: other });
  return { ...tracker, ann, bob, eve, team, membership, project, foreign };
}

t.test('readers get the events of records that they may read, with their fields', async (t) => {
  const { service, operator, ann, bob, eve, made, project, foreign } = await openTeams(t);
  const issue = await made('/issues', { title: 'Leak', projectId: project, secret: 'x1' }, ann.call);
  await made('/issues', { title: 'Robbery', projectId: foreign, secret: 'x2' }, eve.call);
  await operator('PATCH', `/issues/${issue}`, { secret: 'x3' });
  const eventsOf = async (reader: typeof ann.call, query = 'types=issues.*') => {
    await whenEventsAreFinal(service);
    const reply = await reader('GET', `/events?${query}`);
    t.equal(reply.status, 200, reply.text);
    return reply.json.data as {
      type: string;
      subject: string;
      actor?: string;
      data: Record<string, unknown> | null;
    }[];
  };
  for (const { actor } of await eventsOf(bob.call))
    t.match(actor, /./, 'who changed a record that it may read');
  t.match(await eventsOf(operator), [
    { data: { secret: 'x1' } },
    { data: { secret: 'x2' } },
    { data: { secret: 'x3' } },
  ]);
  t.match(await eventsOf(ann.call), [{ data: { secret: 'x1' } }, { data: { secret: 'x3' } }]);
  const seen = await eventsOf(bob.call);
  t.same(
    seen.map(({ data }) => [data?.title, data?.secret]),
    [
      ['Leak', undefined],
      ['Leak', undefined],
    ],
  );
  t.notMatch(JSON.stringify(await eventsOf(bob.call, '')), /x1|x2|x3|Robbery|eve@/);
  t.same(
    await eventsOf(bob.call, 'types=issues.*&filter[secret]=x1'),
    [],
    'a hidden field is absent in conditions',
  );
  t.equal(
    (await eventsOf(ann.call, 'types=issues.*&filter[secret]=x1')).length,
    2,
    'it was entered and left',
  );
  t.equal((await eventsOf(bob.call, 'types=issues.*&filter[title]=Leak')).length, 2);
  t.match(await eventsOf(bob.call, 'types=users.*&filter[email]=ann@example.com'), []);

  // The record leaves the team: its former readers learn that, and nothing of its new state.
  await operator('PATCH', `/issues/${issue}`, { projectId: foreign, title: 'Taken' });
  const last = (await eventsOf(bob.call)).at(-1);
  t.match(last, { type: 'issues.updated', data: undefined, actor: undefined, previous: 2 });
  t.notMatch(JSON.stringify(await eventsOf(bob.call)), 'Taken');
  t.match((await eventsOf(eve.call)).at(-1), { data: { title: 'Taken' } });
  await operator('PATCH', `/issues/${issue}`, { title: 'Taken again' });
  t.equal((await eventsOf(bob.call)).length, seen.length + 1, 'no further event of it');
});

t.test('a stream stops to deliver records when a membership ends', async (t) => {
  const { service, operator, ann, bob, made, membership, project } = await openTeams(t);
  const opened = await bob.call('POST', '/events/tickets');
  t.equal(opened.status, 201, opened.text);
  const aborted = new AbortController();
  t.teardown(() => aborted.abort());
  const response = await fetch(
    `${service.url}/events?types=issues.*,users.*&after=now&ticket=${opened.json.ticket}`,
    {
      headers: { Accept: 'text/event-stream' },
      signal: aborted.signal,
    },
  );
  let text = '';
  const reading = (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
  })().catch(() => undefined);
  await made('/issues', { title: 'First', projectId: project, secret: 'x1' }, ann.call);
  await until(
    'the first issue',
    () => text,
    (seen) => seen.includes('First'),
  );
  t.notMatch(text, 'x1');
  t.equal((await operator('DELETE', `/memberships/${membership}`)).status, 204);
  await made('/issues', { title: 'Second', projectId: project }, ann.call);
  // A later event that the reader may read passes the one that it may not.
  await bob.call('PATCH', `/users/${bob.id}`, { name: 'Robert' });
  await until(
    'the change of the user',
    () => text,
    (seen) => seen.includes('Robert'),
  );
  aborted.abort();
  await reading;
  t.notMatch(text, 'Second');
});

t.test('the scope self is enough for events of records that a rule shows to every user', async (t) => {
  const title = { type: 'string' };
  const access = [{ can: 'read' }, ADMIN];
  const notices = { type: 'object', properties: { title }, 'x-collection': { access } };
  const { service, made, user, as } = await openTracker(t, { 'notices.json': notices });
  await made('/notices', { title: 'Lift out of order' });
  const { key } = await makeKey(service.db, { subject: (await user('ann')).id, scopes: ['self'] });
  for (const query of ['?types=notices.*', '']) {
    const { status, json } = await as(key)('GET', `/events${query}`);
    t.equal(status, 200, query);
    const seen = (json.data as { type: string; data: JsonObject }[]).filter(
      ({ type }) => type === 'notices.created',
    );
    t.match(seen, [{ data: { title: 'Lift out of order' } }], query);
  }
});
