import { prune } from '../../src/db/maintenance.js';
import { webhookPrunes } from '../../src/features/webhooks/delivery-store.js';
import { deliveriesOf, LOOPBACK, makeWebhook, testTarget } from '../features/webhooks/target.js';
import { freshService, RETENTION } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const MB = 1_000_000;

/** The bytes of the events that have not expired, and of all that are stored. */
async function bytesOf({ db }: { db: Awaited<ReturnType<typeof freshService>>['db'] }) {
  const [row] = await db.run(
    `select coalesce(sum(octet_length(data)), 0)::integer as stored,
      coalesce(sum(octet_length(data)) filter (where seq > (select floor from events_floor)), 0)::integer as retained
    from events`,
    [],
  );
  return { stored: row!.stored as number, retained: row!.retained as number };
}

const retainedBytes = async (service: Parameters<typeof bytesOf>[0]) => (await bytesOf(service)).retained;

/** A service with a large item that ten small patches have changed. */
async function patched(t: Test, env: Record<string, string> = {}) {
  const service = await freshService(t, env);
  const { id } = (await service.send('POST', '/items', { body: { name: 'x', text: 'x'.repeat(0.95 * MB) } }))
    .json;
  const patch = async () => {
    for (let n = 0; n < 10; n++) await service.send('PATCH', `/items/${id}`, { body: { n } });
  };
  return { ...service, id, patch };
}

t.test('small patches of a large record stay within EVENTS_MAX_BYTES', async (t) => {
  const service = await patched(t);
  await service.patch();
  t.ok((await retainedBytes(service)) > 10 * MB);
  const options = { ...RETENTION, eventsMaxBytes: 3 * MB };
  for (let round = 0; round < 3; round++) {
    await prune(service.db, options);
    await service.db.run("update expired_event_segments set since = since - interval '1 minute'", []);
    await prune(service.db, options);
    const { retained, stored } = await bytesOf(service);
    t.ok(retained <= 3 * MB && retained >= 1.9 * MB, `${retained} bytes are left`);
    // Half of the limit fills a segment, but a round writes 9.5 MB at once.
    t.ok(stored <= (3 + 9.6 + 9.6) * MB, `${stored} bytes are stored`);
    await service.patch();
  }
  await prune(service.db, options);
  const [newest] = await service.db.run('select data from events order by seq desc limit 1', []);
  t.equal(JSON.parse(newest!.data as string).n, 9, 'the newest are left');
  const [measured] = await service.db.run('select count(*)::integer as rows from event_bytes', []);
  t.ok((measured!.rows as number) <= 5, 'sizes of events that are gone are gone');
});

t.test('a service enforces EVENTS_MAX_BYTES by itself', async (t) => {
  const service = await patched(t, { EVENTS_MAX_BYTES: '2000000' });
  await service.patch();
  await until(
    'the oldest are gone',
    () => retainedBytes(service),
    (seen) => seen <= 2 * MB,
  );
});

t.test('pruning waits for webhooks, and beyond twice the limit drops events loudly', async (t) => {
  const service = await patched(t, { ...LOOPBACK, WEBHOOK_DELIVERY: 'off', LOG_LEVEL: 'error' });
  const hook = await makeWebhook(service, 'http://127.0.0.1:9/');
  await service.db.run("update webhook_cursor set position = '00000000000'", []);
  await service.patch();
  const before = await retainedBytes(service);
  const dropped: number[] = [];
  const options = { ...RETENTION, onDropped: (events: number) => dropped.push(events) };
  await prune(service.db, { ...options, eventsMaxBytes: 6 * MB, eventsMax: 1 });
  t.equal(await retainedBytes(service), before, 'it waits up to twice the limit, whatever the reason');
  t.same(dropped, []);
  await prune(service.db, { ...options, eventsMaxBytes: 3 * MB });
  const left = await retainedBytes(service);
  t.ok(left <= 6 * MB && left >= 4.9 * MB, `${left} bytes are left`);
  t.equal(dropped.length, 1);
  t.ok(dropped[0]! >= 4);
  t.equal((await service.send('GET', `/webhooks/${hook.id}`)).json.dropped_events, dropped[0]);
  await service.send('PATCH', `/webhooks/${hook.id}`, { body: { enabled: false } });
  await prune(service.db, { ...options, eventsMaxBytes: 3 * MB });
  t.ok((await retainedBytes(service)) <= 3 * MB, 'a disabled webhook holds nothing up');
  t.equal(dropped.length, 1);
});

t.test('all deliveries of an event share one stored body, which goes with the last of them', async (t) => {
  const target = await testTarget(t);
  const service = await patched(t, LOOPBACK);
  const hooks = [];
  for (let n = 0; n < 3; n++)
    hooks.push(await makeWebhook(service, target.url, { types: ['items.updated'] }));
  await service.send('PATCH', `/items/${service.id}`, { body: { n: 1 } });
  for (const { id } of hooks) {
    const [delivery] = await deliveriesOf(service, id, 1);
    const shown = await service.send('GET', `/webhooks/${id}/deliveries/${delivery.id}`);
    t.match(shown.json.event, { type: 'items.updated', data: { n: 1 } });
  }
  t.equal(target.received.length, 3);
  const sizes = async () =>
    (
      await service.db.run(
        `select (select count(*)::integer from delivery_bodies) as bodies,
          (select count(*)::integer from deliveries where body is not null) as copies`,
        [],
      )
    )[0];
  t.match(await sizes(), { bodies: 1, copies: 0 });
  const past = (id: string) =>
    service.db.run("update deliveries set ended_at = now() - interval '1 year' where webhook_id = $1", [id]);
  const options = { ...RETENTION, prunes: webhookPrunes(3600) };
  await past(hooks[0]!.id);
  await prune(service.db, options);
  t.match(await sizes(), { bodies: 1, copies: 0 }, 'others still need it');
  await past(hooks[1]!.id);
  await service.send('DELETE', `/webhooks/${hooks[2]!.id}`);
  await prune(service.db, options);
  t.match(await sizes(), { bodies: 0, copies: 0 });
});
