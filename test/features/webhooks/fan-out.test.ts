import { fanOut, type Source } from '../../../src/features/webhooks/fan-out.js';
import { createWebhookMetrics } from '../../../src/features/webhooks/metrics.js';
import { openWebhooks } from '../../../src/features/webhooks/open-webhooks.js';
import { WEBHOOK_SETTINGS } from '../../../src/features/webhooks/settings.js';
import { createLog } from '../../../src/telemetry/log.js';
import { valuesOf } from '../../support/callers.js';
import { freshService } from '../../support/service.js';
import { readSettings } from '../../support/settings.js';
import t from '../../support/test.js';
import { QUICK_DELIVERY } from '../../support/time-limits.js';
import { untilAtLeast, untilLength } from '../../support/until.js';
import { LOOPBACK, makeWebhook, testTarget } from './target.js';

t.jobs = 4;

const log = createLog('silent');
const VERBS = ['created', 'updated', 'deleted'];

/** A feed of so many events, ten records in turn, of users and items. */
function feedOf(count: number): Source {
  const events = Array.from({ length: count }, (_, n) => ({
    id: `e${n}`,
    type: `${n % 2 ? 'users' : 'items'}.${VERBS[n % 3]}`,
    recordKey: `r${n % 10}`,
    body: JSON.stringify({ id: `e${n}` }),
  }));
  return {
    deliveries: async (_, after, limit) => {
      const from = Number(after ?? 0);
      const next = events.slice(from, from + limit);
      const at = from + limit;
      return {
        events: next,
        until: `${from + next.length}`,
        more: events.length > at,
        missedUntil: undefined,
      };
    },
    end: () => '',
    follower: { look: async () => undefined as never, watch: () => () => undefined },
  };
}

t.test('each event becomes one delivery of each webhook, however many processes read', async (t) => {
  const service = await freshService(t, { ...LOOPBACK, WEBHOOK_DELIVERY: 'off' });
  const wanted: [types: string[], fits: (type: string) => boolean][] = [
    [['*'], () => true],
    [['users.*'], (type) => type.startsWith('users.')],
    [['users.created', 'items.deleted'], (type) => type === 'users.created' || type === 'items.deleted'],
  ];
  const made = [];
  for (const [types] of wanted) made.push(await makeWebhook(service, 'http://127.0.0.1:9/', { types }));
  const off = await makeWebhook(service, 'http://127.0.0.1:9/', { enabled: false });
  const feed = feedOf(1234);
  const pass = async () => {
    for (let n = 0; n < 20; n++) await fanOut(service.db, log, feed);
  };
  await Promise.all([pass(), pass(), pass()]);
  for (const [index, [, fits]] of wanted.entries()) {
    const own = 'select event_id from deliveries where webhook_id = $1 order by id';
    const rows = await service.db.run(own, [made[index]!.id]);
    const { events } = await feed.deliveries(undefined as never, null, 2000);
    const all = events.filter(({ type }) => fits(type));
    t.same(valuesOf(rows, 'event_id').join(), all.map(({ id }) => id).join(), 'in order, each once');
  }
  const first = 'select from deliveries where webhook_id = $1 and next_at is not null';
  const due = await service.db.run(first, [made[0]!.id]);
  t.equal(due.length, 10, 'the first of each record is due');
  t.equal((await service.db.run('select 1 from deliveries where webhook_id = $1', [off.id])).length, 0);
});

t.test('a transaction that fails makes nothing and moves nothing', async (t) => {
  const service = await freshService(t, { ...LOOPBACK, WEBHOOK_DELIVERY: 'off' });
  await makeWebhook(service, 'http://127.0.0.1:9/');
  const failing: Source = {
    ...feedOf(3),
    deliveries: async (run, after, limit) => {
      await run('select 1', []);
      const found = await feedOf(3).deliveries(run, after, limit);
      return { ...found, events: found.events.map((event) => ({ ...event, body: 'a\u0000' })) };
    },
  };
  await t.rejects(fanOut(service.db, log, failing));
  t.equal((await service.db.run('select 1 from deliveries', [])).length, 0);
  await fanOut(service.db, log, feedOf(3));
  t.equal((await service.db.run('select 1 from deliveries', [])).length, 3);
});

t.test('what is in the feed reaches the target, in order per record', async (t) => {
  const target = await testTarget(t);
  const service = await freshService(t, { ...LOOPBACK, WEBHOOK_DELIVERY: 'off' });
  await makeWebhook(service, target.url);
  let known = 0;
  const all = feedOf(300);
  const growing: Source = {
    ...all,
    deliveries: async (run, after, limit) => {
      const left = known - Number(after ?? 0);
      return { ...(await all.deliveries(run, after, Math.min(limit, 7, left))), more: false };
    },
  };
  const quick = { ...QUICK_DELIVERY, webhookPollMs: 10 };
  const config = WEBHOOK_SETTINGS.of(readSettings(LOOPBACK, quick));
  const rules = { insecure: true, allowed: config.webhookAllow };
  const processes = [1, 2].map(() =>
    openWebhooks(service.db, log, config, rules, createWebhookMetrics(), growing),
  );
  t.teardown(() => Promise.all(processes.map(({ stop }) => stop(1000))));
  for (known = 0; known < 300; known += 3) {
    for (const { wake } of processes) wake();
    await new Promise((done) => setImmediate(done));
  }
  await untilAtLeast('all arrive', () => target.received, 300);
  t.equal(target.received.length, 300);
  for (let record = 0; record < 10; record++) {
    const order = target.received.map((each) => Number(each.id.slice(1))).filter((n) => n % 10 === record);
    t.same(
      order,
      order.toSorted((a, b) => a - b),
      `record ${record}`,
    );
  }
});

t.test('events that expired before their delivery are reported once, and passed', async (t) => {
  const service = await freshService(t, { ...LOOPBACK, WEBHOOK_DELIVERY: 'off' });
  const { db, feed, send } = service;
  await makeWebhook(service, 'http://127.0.0.1:9/');
  for (const name of ['a', 'b']) await send('POST', '/items', { body: { name } });
  await untilLength('they are final', async () => (await send('GET', '/events')).json.data, 2);
  // The events have expired, and are still stored.
  await db.run('update events_floor set floor = (select max(seq) from events)', []);
  await db.run('update webhook_cursor set position = $1', ['00000000000']);
  const lines: string[] = [];
  const shown = createLog('warn', { write: (line: string) => lines.push(line) });
  for (let n = 0; n < 3; n++) await fanOut(db, shown, feed!);
  t.equal(lines.filter((line) => line.includes('webhooks missed events')).length, 1);
  await send('POST', '/items', { body: { name: 'c' } });
  await untilLength('it is final', async () => (await send('GET', '/events')).json.data, 1);
  await fanOut(db, shown, feed!);
  t.equal((await db.run('select 1 from deliveries', [])).length, 1, 'what comes after is delivered');
});
