import { prune } from '../../src/db/maintenance.js';
import { WITH_TRIGGERS } from '../support/citus.js';
import { freshService, RETENTION } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { times } from '../support/thorough.js';
import { until, untilLength } from '../support/until.js';
import { follow } from './follow.js';

const KEEP = { ...RETENTION, eventsRetentionSeconds: 1000, eventsMax: 1000 };

const MANY_ITEMS = `insert into public_collections.items (id, updated_at, doc, name)
  select id, now(), '{"id":"' || id || '"}', 'n' from (select gen_random_uuid() as id from generate_series(1, 6000)) as new`;

/** A service with ten items, and the cursors of their events. */
async function setup(t: Test) {
  const service = await freshService(t);
  for (let count = 0; count < 10; count++)
    await service.send('POST', '/items', { body: { name: `item ${count}` } });
  const events = await until('all can be read', async () => {
    const { json } = await service.send('GET', '/events');
    return json.data.length === 10 && (json.data as { sequence: string }[]);
  });
  const left = async () => (await service.send('GET', '/events')).json.data.length as number;
  return { ...service, cursors: events.map(({ sequence }) => sequence), left };
}

t.test('events past their time are pruned, and a cursor before them is 410', async (t) => {
  const { db, send, cursors, left, url } = await setup(t);
  await prune(db, KEEP);
  t.equal(await left(), 10);
  await db.run("update events set time = now() - interval '1001 seconds' where seq <= $1", [
    Number.parseInt(cursors[3]!, 36),
  ]);
  await prune(db, KEEP);
  t.equal(await left(), 6);
  for (const accept of ['application/json', 'text/event-stream']) {
    const { status, json } = await send('GET', `/events?after=${cursors[2]}`, { headers: { accept } });
    t.equal(status, 410);
    t.match(json.error, { code: 'CURSOR_GONE', details: { oldest: cursors[3] } });
  }
  t.equal((await send('GET', `/events?after=${cursors[3]}`)).json.data.length, 6, 'the oldest is valid');
  t.equal((await follow(t, `${url}/events`, { 'last-event-id': cursors[0] })).status, 410);
});

t.test('the page of events shows the newest, also when all others have expired', async (t) => {
  const { db, send } = await setup(t);
  const page = () => send('GET', '/events?types=items.*', { headers: { accept: 'text/html' } });
  t.match((await page()).text, /created <a[^>]*>item 9</);
  await db.run("update events set time = now() - interval '1 year'", []);
  await prune(db, KEEP);
  t.match(await page(), { status: 200, text: /No events/ });
  await send('POST', '/items', { body: { name: 'new' } });
  await until('the new event is there', async () => (await page()).text.includes('>new</a>'));
});

t.test('the newest so many are retained', async (t) => {
  const { db, cursors, left, send } = await setup(t);
  await prune(db, { ...KEEP, eventsMax: 3 });
  t.equal(await left(), 3);
  t.equal((await send('GET', `/events?after=${cursors[0]}`)).json.error.details.oldest, cursors[6]);
});

t.test('a cursor before what was pruned is an error also when nothing is left', async (t) => {
  const { db, cursors, send } = await setup(t);
  await db.run("update events set time = now() - interval '1 year'", []);
  await prune(db, KEEP);
  t.same((await send('GET', '/events')).json.data, []);
  t.equal((await send('GET', `/events?after=${cursors[8]}`)).status, 410);
  t.equal((await send('GET', `/events?after=${cursors[9]}`)).status, 200);
  await send('POST', '/items', { body: { name: 'new' } });
  const read = async () => (await send('GET', `/events?after=${cursors[9]}`)).json.data;
  await untilLength('it is read', read, 1);
});

t.test('nothing beyond the horizon is pruned', async (t) => {
  const { db, left, cursors } = await setup(t);
  await prune(db, { ...KEEP, eventsMax: 1, horizon: () => Number.parseInt(cursors[4]!, 36) });
  t.equal(await left(), 5);
});

t.test('pruning goes on batch after batch', WITH_TRIGGERS, async (t) => {
  const { db, left } = await setup(t);
  await db.run(MANY_ITEMS, []);
  await prune(db, { ...KEEP, eventsMax: 5 });
  const [remaining] = await db.run(
    'select count(*)::integer as events from events, events_floor where seq > floor',
    [],
  );
  t.equal(remaining!.events, 5);
  // The events are final when all transactions of the server that had begun before them have ended, other tests' too.
  await until('they can be read', left, (seen) => seen === 5);
});

t.test('a stream whose events were pruned before they were sent ends', async (t) => {
  const { url, db, send } = await setup(t);
  const stream = await follow(t, `${url}/events?types=users.*`);
  await until('it is live', () => stream.text() !== '');
  // As a process sees it that was asleep while another one pruned.
  await db.run('update events_floor set floor = floor + 1000000', []);
  await send('POST', '/items', { body: { name: 'new' } });
  await until('it is over', () => stream.isOver());
});

t.test('without a cursor, events that expire meanwhile are left out', WITH_TRIGGERS, async (t) => {
  const { url, db, send } = await setup(t);
  await db.run(MANY_ITEMS, []);
  let isOver = false;
  const expire = async () => {
    while (!isOver)
      await db.run('update events_floor set floor = least(floor + 1, (select max(seq) - 1 from events))', []);
  };
  const expiring = expire();
  const seen: number[] = [];
  const poll = async () => {
    for (let count = 0; count < times(10, 10, 40); count++)
      seen.push((await send('GET', '/events?types=users.*')).status);
  };
  await Promise.all([poll(), poll(), poll(), poll()]);
  const streams = await Promise.all(
    Array.from({ length: times(10, 10, 40) }, () => follow(t, `${url}/events`)),
  );
  isOver = true;
  await expiring;
  t.same([...new Set(seen)], [200]);
  await send('POST', '/items', { body: { name: 'new' } });
  const names = () => streams.map(({ messages }) => messages.at(-1)?.data.data.name);
  await until('each stream goes on', names, (seen) => seen.every((name) => name === 'new'));
});
