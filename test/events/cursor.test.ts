import { cursorIn, positionIn, positionText } from '../../src/events/cursor.js';
import { freshService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { until, untilLength } from '../support/until.js';
import { follow } from './follow.js';

const EPOCHS = [
  { name: 'aaaaaa', startsAfter: 0 },
  { name: 'bbbbbb', startsAfter: 7 },
  { name: 'cccccc', startsAfter: 7 },
  { name: 'dddddd', startsAfter: 9 },
];

t.test('a cursor names the epoch of its event, and is valid in the epochs that share it', async (t) => {
  const named = (position: number) => cursorIn(EPOCHS, position).slice(12);
  t.same([0, 1, 7, 8, 9, 10].map(named), ['aaaaaa', 'aaaaaa', 'aaaaaa', 'cccccc', 'cccccc', 'dddddd']);
  for (const position of [0, 7, 8, 9, 10, 1e9])
    t.equal(positionIn(EPOCHS, cursorIn(EPOCHS, position)), position);
  const at = (position: number, name: string) => positionIn(EPOCHS, `${positionText(position)}-${name}`);
  t.equal(at(8, 'aaaaaa'), undefined, 'an event that the first history lost');
  t.equal(at(8, 'bbbbbb'), undefined, 'an event of a history of which nothing is left');
  t.equal(at(10, 'cccccc'), undefined);
  t.equal(at(3, 'eeeeee'), undefined, 'an unknown history');
  t.equal(positionIn(EPOCHS, positionText(7)), 7, 'a cursor of an earlier version');
  t.equal(positionIn(EPOCHS, positionText(8)), undefined);
  for (const text of ['', 'x', '0000000000a-', '0000000000a-AAAAAA', '0000000000a-aaaaaaa', '-aaaaaa'])
    t.throws(() => positionIn(EPOCHS, text), { code: 'INVALID_CURSOR' }, text);
});

/** The view of a client when the database of a running service loses its newest events, as a failover may. */
t.test('events that are lost make cursors after them 410, and none that follow are skipped', async (t) => {
  const service = await freshService(t);
  const { send, url } = service;
  const sql = sqlOf(t, service.databaseUrl);
  const create = (name: string) => send('POST', '/items', { body: { name } });
  const read = async (after: string) => (await send('GET', `/events?after=${after}`)).json;
  const cursors: string[] = [];
  for (const name of ['one', 'two', 'lost', 'also lost']) {
    await create(name);
    await until('it can be read', async () => {
      const { data } = (await send('GET', '/events')).json;
      if (data.length === cursors.length + 1) cursors.push(data.at(-1).sequence);
      return cursors.length === data.length && data.at(-1)?.data.name === name;
    });
  }
  const retained = cursors[1]!;
  const stream = await follow(t, `${url}/events?after=${retained}`);
  await untilLength('the stream has them', () => stream.messages, 2);

  const [last] = await sql`select seq from events order by seq offset 1 limit 1`;
  await sql.begin(async (sql) => {
    await sql`delete from events where seq > ${last!.seq}`;
    await sql`delete from items where name like '%lost'`;
    await sql`delete from events where seq > ${last!.seq}`;
    await sql`select setval('events_seq_seq', ${last!.seq})`;
    await sql`update feed_epochs set history = 'of the server that failed'`;
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
  });
  await until('it writes again', async () => (await create('three')).status, 201);
  await until('the stream has ended', stream.isOver);
  const gone = { status: 410, json: { error: { code: 'CURSOR_GONE' } } };
  for (const cursor of cursors.slice(2)) t.match(await send('GET', `/events?after=${cursor}`), gone);
  const names = await until('the new event can be read', async () => {
    const { data } = await read(retained);
    return data.length > 0 && data.map((event: { data: { name: string } }) => event.data.name);
  });
  t.same(names, ['three']);
  const again = await follow(t, `${url}/events`, { 'last-event-id': stream.lastId() });
  t.equal(again.status, 410, 'the stream cannot go on silently');
  const [{ sequence }] = (await read(retained)).data;
  t.equal(sequence.slice(0, 11), cursors[2]!.slice(0, 11), 'the number is used again');
  t.not(sequence, cursors[2]);
  const more = await follow(t, `${url}/events`, { 'last-event-id': retained });
  await untilLength('a stream from an event that was retained has the new one', () => more.messages, 1);
});

t.test('a failover that loses nothing changes no cursor and ends no stream', async (t) => {
  const service = await freshService(t);
  const { send, url } = service;
  const sql = sqlOf(t, service.databaseUrl);
  await send('POST', '/items', { body: { name: 'one' } });
  const stream = await follow(t, `${url}/events`);
  await untilLength('the stream has it', () => stream.messages, 1);
  await sql`update feed_epochs set history = 'of the server that failed'`;
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`;
  const create = async () => (await send('POST', '/items', { body: { name: 'two' } })).status === 201;
  await until('it writes again', create);
  await untilLength('the stream has it, too', () => stream.messages, 2);
  t.notOk(stream.isOver());
  const [one, two] = stream.messages.map(({ id }) => id) as [string, string];
  t.not(one.slice(12), two.slice(12));
  t.equal((await send('GET', `/events?after=${one}`)).json.data.length, 1);
});

t.test('a session that was opened before a promotion begins the epoch when the feed is read', async (t) => {
  const { send, databaseUrl } = await freshService(t);
  const sql = sqlOf(t, databaseUrl);
  const before = (await send('GET', '/events?after=now')).headers['events-cursor'] as string;
  // As sessions find it that did not note the epoch, since the server was a standby.
  await sql`update feed_epochs set history = left(history, -8) || 'FFFFFFFF'`;
  t.equal((await send('GET', `/events?after=${before}`)).status, 200, 'nothing was lost');
  const epochs = await sql`select name, right(history, 8) as timeline from feed_epochs order by number`;
  t.equal(epochs.length, 2);
  t.not(epochs[1]!.timeline, 'FFFFFFFF');
  await send('POST', '/items', { body: { name: 'new' } });
  const after = await until('it can be read', async () => {
    const { data } = (await send('GET', `/events?after=${before}`)).json;
    return data[0]?.sequence as string | undefined;
  });
  t.equal(after.slice(12), epochs[1]!.name, 'its cursor names the new epoch');
});
