import { declare } from '../../support/collections.js';
import { whenEventsAreFinal } from '../../support/final-events.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { PageVisitor } from './visitor.js';

const text = { type: 'string', maxLength: 100, 'x-index': true };
const to = (collection: string, onDelete = 'restrict') => ({
  ...{ type: 'string', 'x-references': collection, 'x-on-delete': onDelete },
});
/** A collection in which these fields are required. */
const collection = (title: string, required: string[], properties: object, options: object = {}) => ({
  ...{ title, type: 'object', required, properties },
  'x-collection': options,
});
const named = (title: string) => collection(title, ['name'], { name: { ...text, 'x-search': true } });

const ROLE = { type: 'string', enum: ['owner', 'member'], 'x-index': true };
const MEMBER = { teamId: to('teams', 'cascade'), personId: to('people', 'cascade'), role: ROLE };
const DAY = { type: 'string', format: 'date', 'x-index': true };
const REFERRED = {
  assigneeId: to('memberships', 'null'),
  orderId: to('orders', 'null'),
  reportId: to('reports', 'null'),
};
const LONG = { title: { type: 'string' }, text: { type: 'string' } };
const BADGE = { memberId: to('memberships'), code: { type: 'string' } };
const COLLECTIONS = {
  'people.json': named('Person'),
  'teams.json': named('Team'),
  'memberships.json': collection('Membership', ['teamId', 'personId'], MEMBER, { nested: 'teamId' }),
  'orders.json': collection('Order', ['personId'], { personId: to('people'), orderedOn: DAY }),
  'badges.json': collection('Badge', [], BADGE, { display: 'memberId' }),
  'tasks.json': collection('Task', ['name'], { name: text, ...REFERRED }),
  'reports.json': collection('Report', [], LONG, { display: 'title' }),
};

/** A team with a member, an order, and a visitor of their pages. */
async function office(t: Test) {
  const service = await testService(t, { COLLECTIONS: declare(t, COLLECTIONS), MIGRATE: 'auto' });
  const make = async (path: string, body: unknown): Promise<{ id: string }> =>
    (await service.send('POST', path, { body })).json;
  const visitor = new PageVisitor(service);
  const team = await make('/teams', { name: 'Roof' });
  const [ann, bob] = [await make('/people', { name: 'Ann' }), await make('/people', { name: 'Bob' })];
  const member = await make('/memberships', { teamId: team.id, personId: ann.id, role: 'owner' });
  await make('/memberships', { teamId: team.id, personId: bob.id });
  const order = await make('/orders', { personId: bob.id, orderedOn: '1996-07-04' });
  return { service, make, visitor, team, member, order };
}

t.test('a record without a text is named by the records to which it refers', async (t) => {
  const { make, visitor, member, order, team } = await office(t);
  const task = await make('/tasks', { name: 'Leak', assigneeId: member.id, orderId: order.id });
  const membership = `<a href="/memberships/${member.id}">Roof, Ann</a>`;
  const ordered = `<a href="/orders/${order.id}">Order of Bob</a>`;
  const rows: readonly (readonly [path: string, shown: string])[] = [
    ['/memberships', `<th scope="row">${membership}</th>`],
    ['/orders', `<th scope="row">${ordered}</th>`],
    ['/tasks', membership],
    [`/tasks/${task.id}`, membership],
    [`/tasks/${task.id}`, ordered],
    [`/memberships/${member.id}`, '<h1>Roof, Ann</h1>'],
    [`/teams/${team.id}`, `<li>${membership} <span class="dim"><time `],
    [`/tasks/${task.id}?_edit`, 'value="Roof, Ann"'],
    ['/tasks?_filter', '> Roof, Ann</label>'],
    ['/events', '>Order of Bob</a>'],
    ['/', '>Roof, Ann</a>'],
  ];
  for (const [path, shown] of rows) t.match(await visitor.text(path), shown, path);
});

/** Names that a person enters as an assignee or an order, and the results. */
const ENTERED: readonly (readonly [field: string, text: string, result: RegExp])[] = [
  ['/assigneeId', 'Roof, Ann', /^303$/],
  ['/assigneeId', 'roof, ann', /^303$/],
  ['/assigneeId', 'Roof, Eve', /no membership is called “Roof, Eve”/],
  ['/orderId', 'Order of Bob', /^303$/],
  ['/orderId', 'Order of Ann', /no order is called “Order of Ann”/],
];

t.test('a form offers these names, and accepts them', async (t) => {
  const { service, visitor, member, order } = await office(t);
  const form = await visitor.get('/tasks?_new');
  for (const name of ['Roof, Ann', 'Roof, Bob', 'Order of Bob'])
    t.match(form.text, `<option value="${name}">`);
  for (const [field, text, result] of ENTERED) {
    const page = await visitor.get('/tasks?_new');
    const response = await visitor.submit(t, page, 'Create', { '/name': text, [field]: text });
    t.match(response.status === 303 ? '303' : response.text, result, text);
  }
  const stored: Record<string, string>[] = (await service.send('GET', '/tasks')).json;
  const named = stored.map(({ assigneeId, orderId }) => assigneeId ?? orderId);
  t.same(named, [member.id, member.id, order.id]);
});

t.test('a declared reference gives a record the name of what it refers to', async (t) => {
  const { make, visitor, member } = await office(t);
  const badge = await make('/badges', { memberId: member.id, code: 'A1 '.repeat(60) });
  t.match(await visitor.text('/badges'), `<th scope="row"><a href="/badges/${badge.id}">Roof, Ann</a>`);
  const record = await visitor.get(`/badges/${badge.id}`);
  t.match(record.text, /<h1>Roof, Ann<\/h1>[\s\S]*<dt>Member<\/dt><dd><a [^>]*>Roof, Ann<\/a>/);
  t.match(record.text, 'A1 '.repeat(60), 'a text is whole on the page of its record');
});

t.test('a list names the records to which it refers, although their texts are long', async (t) => {
  const { make, visitor } = await office(t);
  const report = (at: number) => {
    // One record has a long title.
    const title = at === 0 ? 'T'.repeat(300_000) : `Report ${at}.`;
    return { title, text: 'x'.repeat(at % 2 === 0 ? 500_000 : 1000) };
  };
  for (let at = 0; at < 30; at++) {
    const { id: reportId } = await make('/reports', report(at));
    await make('/tasks', { name: `Task ${at}`, reportId });
  }
  const { text } = await visitor.get('/tasks?limit=30');
  for (let at = 1; at < 30; at++) t.match(text, `>Report ${at}.</a>`);
  t.match(text, />T{200}…<\/a>/);
});

t.test('a record page leads to its parent, and to a new record below it', async (t) => {
  const { visitor, team, member } = await office(t);
  const page = await visitor.get(`/memberships/${member.id}`);
  for (const link of [`/teams/${team.id}">Roof<`, `/teams/${team.id}/memberships">Memberships<`])
    t.match(page.text, `<a href="${link}`);
  t.match(
    await visitor.text(`/teams/${team.id}`),
    `<a class="button" href="/teams/${team.id}/memberships?_new">New membership</a>`,
  );
});

t.test('events are listed with the newest first', async (t) => {
  const { service, visitor } = await office(t);
  await whenEventsAreFinal(service);
  const order = ({ text }: { text: string }) =>
    [...text.matchAll(/ created <a href="\/(\w+)/g)].map(([, type]) => type);
  const newest = order(await visitor.get('/events'));
  t.equal(newest[0], 'orders');
});

t.test('the newest events of a type are found behind many of others', async (t) => {
  const { service, make, visitor } = await office(t);
  const creation = (at: number) => ({ method: 'POST', path: '/people', body: { name: `p${at}` } });
  const names = Array.from({ length: 120 }, (_, at) => creation(at));
  await service.send('POST', '/batch', { body: { operations: names.slice(0, 60) } });
  await service.send('POST', '/batch', { body: { operations: names.slice(60) } });
  await make('/teams', { name: 'Last' });
  await whenEventsAreFinal(service);
  const types = async (query: string) =>
    [...(await visitor.text(`/events?${query}`)).matchAll(/<li>[^<]* created <a [^>]*>([^<]*)</g)].map(
      ([, text]) => text,
    );
  t.same(await types('types=teams.*'), ['Last', 'Roof']);
  const both = await types('types=teams.created&types=orders.created');
  t.same(both, ['Last', 'Order of Bob', 'Roof']);
  t.match(await visitor.text('/events?types=tasks.*'), 'No events among the newest.');
});
