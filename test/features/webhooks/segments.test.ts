import { prune } from '../../../src/db/maintenance.js';
import { webhookPrunes } from '../../../src/features/webhooks/delivery-store.js';
import { valuesOf } from '../../support/callers.js';
import { freshService, RETENTION } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { addDeliveries, deliveriesOf, LOOPBACK, makeWebhook, testTarget } from './target.js';

const HOUR = 3600;
const KEEP = { ...RETENTION, prunes: webhookPrunes(HOUR) };

async function setup(t: Test) {
  const target = await testTarget(t);
  const service = await freshService(t, LOOPBACK);
  const sql = sqlOf(t, service.databaseUrl);
  /** Lets time pass for deliveries, and runs the maintenance. */
  const pass = async (seconds: number) => {
    const past = sql`make_interval(secs => ${seconds})`;
    await sql`update deliveries set ended_at = ended_at - ${past} where ended_at is not null`;
    await sql`update delivery_segment set since = since - ${past}`;
    await prune(service.db, KEEP);
  };
  const segments = async () => {
    const [row] = await sql`
      select array[(select count(*)::integer from deliveries_1), (select count(*)::integer from deliveries_2),
        (select count(*)::integer from deliveries_3)] as deliveries,
        array[(select count(*)::integer from delivery_bodies_1), (select count(*)::integer from delivery_bodies_2),
        (select count(*)::integer from delivery_bodies_3)] as bodies, current
      from delivery_segment`;
    return { ...row };
  };
  return { target, service, sql, pass, segments };
}

t.test('deliveries that ended long ago are truncated with their segment', async (t) => {
  const { target, service, pass, segments } = await setup(t);
  const { id } = await makeWebhook(service, target.url);
  await addDeliveries(t, service, id, ['items/1', 'items/2']);
  await deliveriesOf(service, id, 2);
  await pass(0.6 * HOUR);
  t.same(await segments(), { deliveries: [2, 0, 0], bodies: [2, 0, 0], current: 2 });
  await addDeliveries(t, service, id, ['items/1', 'items/3', 'items/4']);
  const listed = await deliveriesOf(service, id, 5);
  t.same(valuesOf(listed, 'id').join(), '1,2,3,4,5', 'the list has all segments, in order');
  const again = await service.send('POST', `/webhooks/${id}/deliveries/1/redeliver`);
  t.equal(again.status, 202);
  await deliveriesOf(service, id, 5);
  t.equal(target.received.length, 6);
  t.match(JSON.parse(target.received[5]!.body), { subject: 'items/1' }, 'with the body of its own segment');

  await pass(0.6 * HOUR);
  t.same(await segments(), { deliveries: [2, 3, 0], bodies: [2, 3, 0], current: 3 }, 'one was sent again');
  await pass(0.6 * HOUR);
  t.same(await segments(), { deliveries: [0, 0, 0], bodies: [0, 0, 0], current: 3 });
  await addDeliveries(t, service, id, ['items/5']);
  t.match(await deliveriesOf(service, id, 1), [{ id: '6', status: 'delivered' }]);
});

t.test('a segment with pending deliveries is retained, others go after twice the time', async (t) => {
  const { target, service, sql, pass, segments } = await setup(t);
  const { id } = await makeWebhook(service, target.url);
  const waiting = await makeWebhook(service, target.url, { enabled: false });
  await addDeliveries(t, service, id, ['items/1', 'items/2']);
  await addDeliveries(t, service, waiting.id, ['items/1']);
  await deliveriesOf(service, id, 2);
  await sql`update webhooks set updated_at = now() + interval '1 day' where id = ${waiting.id}`;
  await pass(1.5 * HOUR);
  t.same(await segments(), { deliveries: [3, 0, 0], bodies: [2, 0, 0], current: 2 });
  await pass(0.6 * HOUR);
  t.same(await segments(), { deliveries: [1, 0, 0], bodies: [1, 0, 0], current: 2 });
  await service.send('PATCH', `/webhooks/${waiting.id}`, { body: { enabled: true } });
  await deliveriesOf(service, waiting.id, 1);
  t.match(JSON.parse(target.received.at(-1)!.body), { subject: 'items/1' });
  await pass(1.1 * HOUR);
  t.same(await segments(), { deliveries: [0, 0, 0], bodies: [0, 0, 0], current: 2 });
});

t.test('deliveries of one record wait for each other across segments', async (t) => {
  const { target, service, pass, segments } = await setup(t);
  const { id } = await makeWebhook(service, target.url, { enabled: false });
  await addDeliveries(t, service, id, ['items/1', 'items/1']);
  await pass(0.6 * HOUR);
  await addDeliveries(t, service, id, ['items/1']);
  t.match(await segments(), { deliveries: [2, 1, 0], current: 2 });
  const { json } = await service.send('GET', `/webhooks/${id}/deliveries`);
  const due = json.data.map(({ next_at: next }: { next_at: string | null }) => next !== null);
  t.same(due, [false, false, true], 'only the first is due');
  await service.send('PATCH', `/webhooks/${id}`, { body: { enabled: true } });
  await deliveriesOf(service, id, 3);
  t.equal(target.received.map((each) => each.id).join(), 'items/1-0,items/1-1,items/1-0');
});
