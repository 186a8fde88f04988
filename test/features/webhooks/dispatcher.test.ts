import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook } from '../../../src/features/webhooks/verify.js';
import { startProcess } from '../../support/process.js';
import { testProxy } from '../../support/proxy.js';
import { RETENTION, send, testDatabase, testService } from '../../support/service.js';
import t from '../../support/test.js';
import { until, untilLength } from '../../support/until.js';
import {
  addDeliveries,
  deliveriesOf,
  LOOPBACK,
  makeWebhook,
  type Received,
  type Responder,
  testTarget,
} from './target.js';

t.jobs = 4;

/** The fields of the other form of a signature. */
const formOf = (headers: Received['headers']) =>
  ({ 'x-timestamp': headers['x-timestamp'], 'x-signature': headers['x-signature'] }) as Record<
    string,
    string
  >;

t.test('a test event is sent at once, signed in both forms', async (t) => {
  const target = await testTarget(t, (_, res) => void res.writeHead(200).end('thanks'));
  const env = { ...LOOPBACK, PUBLIC_URL: 'https://api.example.org' };
  const service = await testService(t, env, { webhookPollMs: 60_000 });
  const { id, secret } = await makeWebhook(service, `${target.url}/hook?a=b%20c`);
  const response = await service.send('POST', `/webhooks/${id}/test`);
  t.match(response, { status: 202, json: { type: 'webhooks.test' } });
  const [delivery] = await deliveriesOf(service, id, 1);
  const last_answer = { status: 200, error: null, body: 'thanks' };
  t.match(delivery, { status: 'delivered', tries: 1, next_at: null, last_answer });
  t.equal(response.headers.location, `/webhooks/${id}/deliveries/${delivery.id}`);
  const [{ path, headers, body, id: messageId }] = target.received as [(typeof target.received)[0]];
  t.equal(path, '/hook?a=b%20c');
  t.equal(headers['content-type'], 'application/cloudevents+json; charset=utf-8');
  const event = JSON.parse(body);
  const expected = { specversion: '1.0', type: 'webhooks.test', source: env.PUBLIC_URL, id: messageId };
  t.match(event, expected);
  t.same((await service.send('GET', response.headers.location!)).json.event, event);
  t.same(new Webhook(secret).verify(body, headers as Record<string, string>), event);
  t.equal(verifyWebhook(body, headers, secret).id, messageId);
  verifyWebhook(body, formOf(headers), secret, { path, scheme: 'x-signature' });
});

t.test('another Plinth takes a delivery as a signed request', async (t) => {
  // A signature is accepted once: an attempt in the same second would be refused.
  const first = await testService(t, LOOPBACK, { webhookRetries: [5] });
  const { id, secret } = await makeWebhook(first, 'http://127.0.0.1:9/');
  const receiver = await testService(t, {
    AUTH: 'signature',
    SIGNING_SECRETS: JSON.stringify([{ id: 'hook', secret, subject: 'hooks', scopes: ['items:write'] }]),
  });
  await first.send('PATCH', `/webhooks/${id}`, { body: { url: `${receiver.url}/items?_x=1` } });
  await first.send('POST', `/webhooks/${id}/test`);
  const response = await until('it has been tried', async () => {
    const { json } = await first.send('GET', `/webhooks/${id}/deliveries`);
    return json.data[0].last_answer ?? undefined;
  });
  t.equal(response.status, 415, 'the signature is valid; the media type is unsupported');
});

t.test('after a failure it is tried again, and after the last one can be sent again', async (t) => {
  let isUp = false;
  const target = await testTarget(t, (_, res, count) => {
    if (isUp || count === 1) return 204;
    res.writeHead(500).end(`no ${'x'.repeat(3000)}\0`);
    return undefined;
  });
  const service = await testService(t, LOOPBACK);
  const { id } = await makeWebhook(service, target.url);
  await addDeliveries(t, service, id, ['items/1']);
  const [arrived] = await deliveriesOf(service, id, 1);
  t.match(arrived, { status: 'delivered', tries: 2, last_answer: { status: 204 } });
  await addDeliveries(t, service, id, ['items/2']);
  const [, dead] = await deliveriesOf(service, id, 2);
  t.match(dead, { status: 'dead', tries: 4, next_at: null, last_answer: { status: 500 } });
  t.equal(dead.last_answer.body.length, 1024);
  for (const each of target.received.slice(2)) t.equal(each.id, 'items/2-0', 'one id for all tries');
  t.same((await service.send('GET', `/webhooks/${id}/deliveries?status=dead`)).json.data, [dead]);

  isUp = true;
  const location = `/webhooks/${id}/deliveries/${dead.id}`;
  const again = await service.send('POST', `${location}/redeliver`);
  t.match(again, { status: 202, headers: { location }, json: { status: 'pending', tries: 0 } });
  t.match((await deliveriesOf(service, id, 2))[1], { status: 'delivered', tries: 1 });
  t.equal((await service.send('POST', `/webhooks/${id}/deliveries/999/redeliver`)).status, 404);
});

t.test('Retry-After is honoured, and a delivery that waits can be sent at once', async (t) => {
  const target = await testTarget(t, (_, res, count) => {
    if (count > 0) return 204;
    res.writeHead(503, { 'retry-after': '3600' }).end();
    return undefined;
  });
  const service = await testService(t, LOOPBACK);
  const { id } = await makeWebhook(service, target.url);
  const [first] = await addDeliveries(t, service, id, ['items/1', 'items/1']);
  const waiting = await until('it has been tried', async () => {
    const { json } = await service.send('GET', `/webhooks/${id}/deliveries`);
    return json.data[1].last_answer !== null && json.data;
  });
  const [tried, next] = [waiting[1].tried_at, waiting[1].next_at].map((time) => Date.parse(time));
  const respondedAt = next! - 3_600_000;
  t.ok(respondedAt >= tried! && respondedAt <= Date.now(), `tried at ${tried}, again at ${next}`);
  const following = { status: 'pending', tries: 0, next_at: null };
  t.match(waiting[0], following, 'the next one of the record waits for it');
  const redeliver = (delivery: string) =>
    service.send('POST', `/webhooks/${id}/deliveries/${delivery}/redeliver`);
  t.match(await redeliver(waiting[0].id), { status: 409, json: { error: { code: 'DELIVERY_PENDING' } } });
  t.equal((await redeliver(first!)).status, 202);
  t.match(await deliveriesOf(service, id, 2), [{ status: 'delivered' }, { status: 'delivered' }]);
});

t.test('410 disables the webhook until it is enabled again; what waits goes on then', async (t) => {
  const target = await testTarget(t, (_, __, count) => (count === 0 ? 410 : 204));
  const service = await testService(t, LOOPBACK);
  const { id } = await makeWebhook(service, target.url);
  await addDeliveries(t, service, id, ['items/1', 'items/1']);
  const shown = async () => (await service.send('GET', `/webhooks/${id}`)).json;
  const webhook = await until('it is disabled', shown, ({ enabled }) => !enabled);
  t.equal(webhook.disabled_reason, 'gone');
  const refused = { status: 409, json: { error: { code: 'WEBHOOK_DISABLED' } } };
  for (const what of ['test', 'deliveries/1/redeliver'])
    t.match(await service.send('POST', `/webhooks/${id}/${what}`), refused);
  t.equal(target.received.length, 1);
  const enabled = await service.send('PATCH', `/webhooks/${id}`, { body: { enabled: true } });
  t.match(enabled.json, { disabled_reason: null });
  t.match(await deliveriesOf(service, id, 2), [{ status: 'dead', tries: 1 }, { status: 'delivered' }]);
});

const STALLED = { status: 202, body: 'so far' };

t.test('redirects, silence, refusal, endless bodies and heads, and what is no HTTP', async (t) => {
  const other = await testTarget(t);
  const endless: Responder = (_, res) => {
    const write = (): void => {
      while (!res.destroyed && res.write('y'.repeat(16_384)));
      res.once('drain', write);
    };
    res.writeHead(200);
    write();
    return undefined;
  };
  const long = { 'x-long': 'x'.repeat(20_000) };
  const upgrade = 'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
  const says =
    (text: string): Responder =>
    (_, res) =>
      void res.socket!.end(text);
  /** The last member is what the last attempt found; a failure, unless it has the status of a success. */
  const cases: [
    name: string,
    respond: Responder,
    found: { status?: number | null; [more: string]: unknown },
  ][] = [
    ['a redirect', (_, res) => void res.writeHead(307, { location: other.url }).end(), { status: 307 }],
    ['silence', () => undefined, { status: null, error: 'TIMEOUT' }],
    ['a reset', (_, res) => void res.socket!.destroy(), { error: 'ECONNRESET' }],
    ['a head without end', (_, res) => void res.writeHead(200, long).end(), { error: 'HPE_HEADER_OVERFLOW' }],
    ['no HTTP', says('hello\r\n\r\n'), { error: /^HPE_/ }],
    ['a change of protocol', says(upgrade), { status: null }],
    ['of a body without end the beginning', endless, { status: 200, body: /^y{1024}$/ }],
    ['of one that stalls, what came', (_, res) => void res.writeHead(202).write('so far'), STALLED],
  ];
  const webhookRetries = [0.01];
  const patient = await testService(t, LOOPBACK, { webhookRetries });
  // The attempts of this service end by the time limit. On a slow machine, an attempt may end before anything has arrived.
  const hasty = await testService(t, LOOPBACK, { webhookRetries, webhookTimeoutMs: 200 });
  const repeating = await testService(t, LOOPBACK, {
    webhookTimeoutMs: 500,
    webhookRetries: Array(50).fill(0.01),
  });
  for (const [name, respond, found] of cases) {
    const status = (found.status ?? 0) < 300 && found.status ? 'delivered' : 'dead';
    const service = name.includes('silence') ? hasty : name.includes('stalls') ? repeating : patient;
    const target = await testTarget(t, respond);
    const { id } = await makeWebhook(service, target.url);
    await addDeliveries(t, service, id, ['items/1']);
    t.match(await deliveriesOf(service, id, 1), [{ status, last_answer: found }], name);
    await target.close();
    if (service !== patient) continue;
    await service.send('PATCH', `/webhooks/${id}`, { body: { description: name } });
    await addDeliveries(t, service, id, ['items/2']);
    const last = { status: 'dead', tries: 2, last_answer: { error: 'ECONNREFUSED' } };
    t.match((await deliveriesOf(service, id, 2))[1], last);
  }
  t.equal(other.received.length, 0);
});

t.test('a rule that became stricter holds for webhooks that are there', async (t) => {
  const target = await testTarget(t);
  const first = await testService(t, { ...LOOPBACK, WEBHOOK_DELIVERY: 'off' });
  const { id } = await makeWebhook(first, target.url);
  const second = await testService(t, { ...LOOPBACK, WEBHOOK_ALLOW: '', DATABASE_URL: first.databaseUrl });
  await addDeliveries(t, first, id, ['items/1']);
  t.match(await deliveriesOf(second, id, 1), [{ status: 'dead', last_answer: { error: 'ADDRESS_REFUSED' } }]);
  t.equal(target.received.length, 0);
});

t.test('the deliveries of a record are in order, over retries and several processes', async (t) => {
  const seen = new Map<string, number>();
  const target = await testTarget(t, ({ id }) => {
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    // Each third one fails twice.
    return Number(id.split('-')[1]) % 3 === 0 && count < 3 ? 500 : 204;
  });
  const constants = { webhookRetries: [0.05, 0.05, 0.05] };
  const first = await testService(t, LOOPBACK, constants);
  await testService(t, { ...LOOPBACK, DATABASE_URL: first.databaseUrl }, constants);
  const { id } = await makeWebhook(first, target.url);
  const records = Array.from({ length: 90 }, (_, n) => `items/${n % 9}`);
  await addDeliveries(t, first, id, records.slice(0, 45));
  await addDeliveries(t, first, id, records.slice(45));
  t.equal((await deliveriesOf(first, id, 90)).filter(({ status }) => status === 'delivered').length, 90);
  for (let record = 0; record < 9; record++) {
    const own = (id: string) => id.startsWith(`items/${record}-`);
    const order = target.received.map((each) => each.id).filter(own);
    const firsts = [...new Set(order)];
    t.equal(firsts.length, new Set(records.map((name, n) => `${name}-${n % 45}`).filter(own)).size);
    // A later one never comes before the last try of an earlier one.
    for (const [index, each] of firsts.entries())
      for (const later of firsts.slice(index + 1)) t.ok(order.indexOf(later) > order.indexOf(each));
  }
});

t.test('dead and slow targets do not hold up the others', async (t) => {
  const slow = await testTarget(t, () => undefined);
  const healthy = await testTarget(t);
  const service = await testService(t, LOOPBACK, { webhookConcurrency: 8, webhookTargetConcurrency: 2 });
  const records = Array.from({ length: 30 }, (_, n) => `items/${n}`);
  for (let n = 0; n < 3; n++) {
    const { id } = await makeWebhook(service, slow.url);
    await addDeliveries(t, service, id, records);
  }
  await untilLength('the slow ones have what they may have', () => slow.received, 6);
  const { id } = await makeWebhook(service, healthy.url);
  await addDeliveries(t, service, id, records);
  t.equal((await deliveriesOf(service, id, 30)).length, 30);
  t.equal(slow.received.length, 6, 'each slow one has two places and no more');
});

t.test('a rotation: both secrets are valid for a day, each form has them', async (t) => {
  const target = await testTarget(t, (_, __, count) => (count < 1 ? 500 : 204));
  const service = await testService(t, LOOPBACK);
  const { id, secret: old } = await makeWebhook(service, target.url);
  const before = Date.now();
  const rotated = await service.send('POST', `/webhooks/${id}/rotate`);
  const { secret, previous_secret_until } = rotated.json;
  t.equal(rotated.status, 200);
  t.not(secret, old);
  const day = 24 * 3_600_000;
  const end = Date.parse(previous_secret_until);
  t.ok(end >= before + day - 1000 && end <= Date.now() + day + 1000);
  t.notMatch((await service.send('GET', `/webhooks/${id}`)).text, /whsec_/);
  await addDeliveries(t, service, id, ['items/1']);
  await deliveriesOf(service, id, 1);
  for (const [{ headers, body, path }, own] of [
    [target.received[0]!, secret],
    [target.received[1]!, old],
  ] as const) {
    for (const each of [secret, old]) new Webhook(each).verify(body, headers as Record<string, string>);
    verifyWebhook(body, formOf(headers), own, { path, scheme: 'x-signature' });
  }
  await service.db.run('update webhooks set previous_until = now()', []);
  await addDeliveries(t, service, id, ['items/2']);
  await deliveriesOf(service, id, 2);
  const last = target.received[2]!;
  t.equal(last.headers['webhook-signature']!.toString().split(' ').length, 1, 'after that only the new one');
  t.throws(() => verifyWebhook(last.body, last.headers, old), { code: 'BAD_SIGNATURE' });
});

t.test('another process takes over the lease of one that was killed', async (t) => {
  let isUp = false;
  const target = await testTarget(t, () => (isUp ? 204 : undefined));
  const DATABASE_URL = await testDatabase(t);
  const killed = startProcess(t, { ...LOOPBACK, DATABASE_URL });
  const url = await killed.ready();
  const made = await send(url, 'POST', '/webhooks', { body: { url: target.url, types: ['*'] } });
  const { id } = made.json;
  await addDeliveries(t, { databaseUrl: DATABASE_URL }, id, ['items/1', 'items/1', 'items/2']);
  await untilLength('two are in flight', () => target.received, 2);
  killed.child.kill('SIGKILL');
  await killed.ended;
  isUp = true;
  const service = await testService(t, { ...LOOPBACK, DATABASE_URL });
  const pending = await deliveriesOf(service, id, 3, (status) => status === 'pending');
  t.equal(pending.filter(({ tries }) => tries === 1).length, 2, 'their leases hold');
  await service.db.run('update deliveries set next_at = now() where owner is not null', []);
  t.match(await deliveriesOf(service, id, 3), [
    { status: 'delivered', tries: 2 },
    { status: 'delivered', tries: 1 },
    { status: 'delivered', tries: 2 },
  ]);
});

for (const [what, SHUTDOWN_MS, responds, wanted] of [
  ['lets a delivery in flight end', '60000', true, 'delivered 1'],
  ['gives back a delivery that does not end', '100', false, 'pending 0'],
] as const)
  t.test(`a service that stops ${what}`, async (t) => {
    const open: ServerResponse[] = [];
    const target = await testTarget(t, (_, res) => void open.push(res));
    const first = await testService(t, { ...LOOPBACK, SHUTDOWN_MS });
    const watching = await testService(t, { WEBHOOK_DELIVERY: 'off', DATABASE_URL: first.databaseUrl });
    const { id } = await makeWebhook(first, target.url);
    await addDeliveries(t, first, id, ['items/1']);
    await until('it is in flight', () => open.length, 1);
    const stopped = first.stop();
    if (responds) open[0]!.writeHead(204).end();
    await stopped;
    const [{ status, tries }] = (await watching.send('GET', `/webhooks/${id}/deliveries`)).json.data;
    t.equal(`${status} ${tries}`, wanted);
  });

t.test('what ends while the database is away is written down when it is back', async (t) => {
  const open: ServerResponse[] = [];
  const target = await testTarget(t, (_, res) => void open.push(res));
  const databaseUrl = await testDatabase(t);
  const proxy = await testProxy(t, databaseUrl);
  const service = await testService(t, { ...LOOPBACK, DATABASE_URL: proxy.url });
  const { id } = await makeWebhook(service, target.url);
  await addDeliveries(t, { databaseUrl }, id, ['items/1', 'items/1']);
  await until('it is in flight', () => open.length, 1);
  proxy.cut();
  open[0]!.writeHead(204).end();
  await until('the service sees it', async () => (await service.send('GET', '/webhooks')).status, 503);
  await proxy.restore();
  await until('the next one comes', () => open.length, 2);
  open[1]!.writeHead(204).end();
  t.match(await deliveriesOf(service, id, 2), [
    { status: 'delivered', tries: 1 },
    { status: 'delivered', tries: 1 },
  ]);
  t.equal(target.received.length, 2);
});

t.test('a deleted webhook leaves nothing, and what has ended goes past its time', async (t) => {
  const { prune } = await import('../../../src/db/maintenance.js');
  const { webhookPrunes } = await import('../../../src/features/webhooks/delivery-store.js');
  const target = await testTarget(t);
  const service = await testService(t, LOOPBACK);
  const [active, deleted, disabled] = [
    await makeWebhook(service, target.url),
    await makeWebhook(service, target.url),
    await makeWebhook(service, target.url, { enabled: false }),
  ];
  for (const { id } of [active, deleted, disabled])
    await addDeliveries(t, service, id, ['items/1', 'items/1', 'items/2']);
  await deliveriesOf(service, active.id, 3);
  await deliveriesOf(service, deleted.id, 3);
  await service.send('DELETE', `/webhooks/${deleted.id}`);
  const keep = { ...RETENTION, prunes: webhookPrunes(3600) };
  const counts = 'select webhook_id::text as id, count(*)::int as n from deliveries group by 1';
  const left = async () =>
    Object.fromEntries((await service.db.run(counts, [])).map(({ id, n }) => [String(id), n]));
  await prune(service.db, keep);
  t.same(await left(), { [active.id]: 3, [disabled.id]: 3 });
  await service.db.run("update deliveries set ended_at = ended_at - interval '2 hours'", []);
  await service.db.run("update webhooks set updated_at = updated_at - interval '2 hours'", []);
  await prune(service.db, keep);
  t.same(await left(), {});
});
