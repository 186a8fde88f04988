import type postgres from 'postgres';
import { prune } from '../../src/db/maintenance.js';
import { WITH_TRIGGERS } from '../support/citus.js';
import { freshService, RETENTION, type TestService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until, untilLength } from '../support/until.js';

/** A segment has more than three events, six are retained. */
const SMALL = { ...RETENTION, eventsMax: 6 };

interface Read {
  readonly subjects: readonly string[];
  readonly status: number;
}

async function setup(t: Test) {
  const service = await freshService(t);
  const sql = sqlOf(t, service.databaseUrl);
  return { service, sql };
}

/** Runs the maintenance, and again after the minute for which expired events remain. */
async function maintain({ db }: TestService, options: typeof SMALL & { horizon?: () => number }) {
  await prune(db, options);
  await db.run("update expired_event_segments set since = since - interval '1 minute'", []);
  await prune(db, options);
}

/** Creates items, and returns their paths. */
async function create({ send }: TestService, count: number): Promise<string[]> {
  const paths: string[] = [];
  for (let n = 0; n < count; n++)
    paths.push(String((await send('POST', '/items', { body: { name: `item ${n}` } })).headers.location));
  return paths;
}

/** How many events each segment has, and which is the current one. */
async function segmentsOf(sql: postgres.Sql): Promise<{ stored: number[]; current: number }> {
  const [row] = await sql<{ stored: number[]; current: number }[]>`
    select array[(select count(*)::integer from events_1), (select count(*)::integer from events_2),
      (select count(*)::integer from events_3)] as stored, current
    from event_segment`;
  return { ...row! };
}

async function read({ send }: TestService, after = ''): Promise<Read> {
  const { json, status } = await send('GET', `/events?limit=1000${after}`);
  return { status, subjects: (json.data ?? []).map(({ subject }: { subject: string }) => subject) };
}

/** The subjects of the feed once it has so many events. */
const feedOf = (service: TestService, events: number) =>
  untilLength('all events are final', async () => (await read(service)).subjects, events);

t.test('expired events are truncated with their segment, and the feed is in order', async (t) => {
  const { service, sql } = await setup(t);
  const paths: string[] = [];
  const expected = [
    { stored: [4, 0, 0], current: 2 },
    { stored: [4, 4, 0], current: 3 },
    { stored: [0, 4, 4], current: 1 },
    { stored: [4, 0, 4], current: 2 },
    { stored: [4, 4, 0], current: 3 },
  ];
  for (const segments of expected) {
    paths.push(...(await create(service, 4)));
    await maintain(service, SMALL);
    t.same(await segmentsOf(sql), segments);
    const retained = paths.slice(-6);
    t.same(await feedOf(service, retained.length), retained);
  }
  const page = await service.send('GET', '/events?limit=4');
  const rest = await service.send('GET', page.json.links.next);
  const subjects = [...page.json.data, ...rest.json.data].map(({ subject }) => subject);
  t.same(subjects, paths.slice(-6), 'pages go on across segments');
});

t.test('the next segment is used only once it is empty', async (t) => {
  const { service, sql } = await setup(t);
  await create(service, 4);
  await maintain(service, SMALL);
  await create(service, 4);
  const horizon = () => 0;
  await maintain(service, { ...SMALL, horizon });
  t.same(await segmentsOf(sql), { stored: [4, 4, 0], current: 3 });
  await create(service, 4);
  await maintain(service, { ...SMALL, horizon });
  t.same(await segmentsOf(sql), { stored: [4, 4, 4], current: 3 }, 'nothing has expired');
  await create(service, 1);
  await maintain(service, SMALL);
  t.same(await segmentsOf(sql), { stored: [0, 4, 5], current: 1 });
});

t.test('what an open transaction wrote to an earlier segment is retained', WITH_TRIGGERS, async (t) => {
  const { service, sql } = await setup(t);
  const writer = sqlOf(t, service.databaseUrl);
  const [, , , last] = await create(service, 4);
  const [first] = await sql`select max(seq)::integer as seq from events`;
  let commit = (): void => undefined;
  const committed = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const id = '01900000-0000-7000-8000-00000000000a';
  let isWritten = false;
  const writing = writer.begin(async (tx) => {
    await tx`insert into items (id, updated_at, doc, name) values (${id}, now(), ${`{"id":"${id}","name":"late"}`}, 'late')`;
    isWritten = true;
    await committed;
  });
  await until('it is written', () => isWritten);
  await maintain(service, SMALL);
  t.equal((await segmentsOf(sql)).current, 2);
  const later = await create(service, 4);
  // All events before it have expired.
  await maintain(service, { ...SMALL, eventsMax: 1, horizon: () => first!.seq as number });
  t.same((await segmentsOf(sql)).stored, [4, 4, 0], 'the segment is in use');
  commit();
  await writing;
  await maintain(service, SMALL);
  t.same((await segmentsOf(sql)).stored, [5, 4, 0], 'its newest event has not expired');
  t.same(await feedOf(service, 5), [`/items/${id}`, ...later], 'it comes before what was written later');
  t.notOk(later.includes(last!));
  await maintain(service, { ...SMALL, eventsMax: 4 });
  t.same((await segmentsOf(sql)).stored, [0, 4, 0]);
});

t.test('a segment that is read is truncated later, and delays nobody', async (t) => {
  const { service, sql } = await setup(t);
  await create(service, 4);
  await maintain(service, SMALL);
  await create(service, 4);
  const reader = sqlOf(t, service.databaseUrl);
  await reader.begin('read only', async (tx) => {
    await tx`select count(*) from events`;
    await maintain(service, { ...SMALL, eventsMax: 4 });
    t.same((await segmentsOf(sql)).stored, [4, 4, 0]);
    t.equal((await feedOf(service, 4)).length, 4, 'the feed can be read meanwhile');
  });
  await maintain(service, { ...SMALL, eventsMax: 4 });
  t.same((await segmentsOf(sql)).stored, [0, 4, 0]);
});

t.test('the events of an idle service are truncated after their time', async (t) => {
  const { service, sql } = await setup(t);
  await create(service, 2);
  await sql`update event_segment set since = now()`;
  const pass = async (seconds: number) => {
    await sql`update events set time = time - make_interval(secs => ${seconds})`;
    await sql`update event_segment set since = since - make_interval(secs => ${seconds})`;
    await maintain(service, { ...RETENTION, eventsRetentionSeconds: 1000 });
  };
  await pass(400);
  t.same(await segmentsOf(sql), { stored: [2, 0, 0], current: 1 });
  await pass(200);
  t.same(await segmentsOf(sql), { stored: [2, 0, 0], current: 2 });
  await pass(500);
  t.same(await segmentsOf(sql), { stored: [0, 0, 0], current: 2 });
  t.same((await read(service)).subjects, []);
  const [path] = await create(service, 1);
  t.same(await feedOf(service, 1), [path]);
});

t.test('a segment changes when it has half of the bytes', async (t) => {
  const { service, sql } = await setup(t);
  const options = { ...RETENTION, eventsMaxBytes: 100_000 };
  const large = async (count: number) => {
    for (let n = 0; n < count; n++)
      await service.send('POST', '/items', { body: { name: 'x', text: 'x'.repeat(10_000) } });
  };
  await large(3);
  await maintain(service, options);
  t.equal((await segmentsOf(sql)).current, 1);
  await large(4);
  await maintain(service, options);
  t.equal((await segmentsOf(sql)).current, 2);
});

t.test('expired events remain for a minute, for dumps that have begun', async (t) => {
  const { service, sql } = await setup(t);
  await create(service, 4);
  await prune(service.db, SMALL);
  await create(service, 4);
  await prune(service.db, { ...SMALL, eventsMax: 4 });
  await prune(service.db, { ...SMALL, eventsMax: 4 });
  t.same((await segmentsOf(sql)).stored, [4, 4, 0]);
  const [expired] =
    await sql`select segment, since > now() - interval '1 minute' as "isRecent" from expired_event_segments`;
  t.same({ ...expired }, { segment: 1, isRecent: true });
  await sql`update expired_event_segments set since = since - interval '1 minute'`;
  await sql.begin('isolation level repeatable read', async (tx) => {
    const [row] = await tx`select truncate_expired_events() as "isTruncated"`;
    t.equal(row!.isTruncated, false, 'a second look with the same snapshot would not be one');
  });
  await prune(service.db, { ...SMALL, eventsMax: 4 });
  t.same((await segmentsOf(sql)).stored, [0, 4, 0]);
});

t.test('two segments take turns while something writes to the third', async (t) => {
  const { service, sql } = await setup(t);
  const stray = () =>
    sql`insert into events (record, version, type) values (gen_random_uuid(), 1, 'others.created')`;
  for (let round = 0; round < 8; round++) {
    await create(service, 4);
    await stray();
    await maintain(service, SMALL);
  }
  const { stored, current } = await segmentsOf(sql);
  t.ok(stored[1]! + stored[2]! <= 16, `${stored} events are stored`);
  t.not(current, 1);
});
