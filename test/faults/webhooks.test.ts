import { type ConfirmedWrite, ROLLED_BACK, write } from '../events/write.js';
import { LOOPBACK, makeWebhook, type Target, testTarget } from '../features/webhooks/target.js';
import { claimPort } from '../support/claimed-port.js';
import { pause } from '../support/pause.js';
import { replacing, startProcess, WITH_CONSTANTS } from '../support/process.js';
import { send, testDatabase, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some, times } from '../support/thorough.js';
import { until, untilAtLeast, untilLength } from '../support/until.js';
import { endLeases } from './leases.js';
import { TRANSPORTS, testPostgres } from './postgres.js';

t.jobs = 4;

/**
 * A lease ends 15 seconds after this: what a killed process had in flight comes before the patience of a test ends. The
 * target shares this process with four tests, so that a shorter timeout would count a busy target as one that fails.
 */
const TIMEOUT = { webhookTimeoutMs: 5000 };
/** Failures are tried again for longer than a test lasts. */
const PATIENT = { webhookRetries: Array<number>(50).fill(1) };

/** An event as it is delivered. */
interface Sent {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly previous?: number;
  readonly data?: { readonly name: string; readonly _version: number };
}

const keyOf = ({ type, record, version }: ConfirmedWrite) => `${type} /items/${record} ${version}`;
const keyOfSent = ({ type, subject, previous, data }: Sent) =>
  `${type} ${subject} ${data?._version ?? previous}`;

async function makeAt(url: string, target: Target): Promise<string> {
  const made = await send(url, 'POST', '/webhooks', { body: { url: target.url, types: ['*'] } });
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  return made.json.id;
}

/** The whole feed. */
async function feedOf(url: string): Promise<Sent[]> {
  const events: Sent[] = [];
  for (let after = ''; ; ) {
    const { json } = await send(url, 'GET', `/events?limit=1000${after}`);
    events.push(...json.data);
    if (!json.meta.more) return events;
    after = `&after=${json.meta.cursor}`;
  }
}

/** The oldest deliveries of each webhook that have not ended. */
async function pendingOf(url: string) {
  const { json } = await send(url, 'GET', '/webhooks');
  return Promise.all(
    json.data.map(
      async ({ id }: { id: string }) =>
        (await send(url, 'GET', `/webhooks/${id}/deliveries?status=pending`)).json.data,
    ),
  );
}

/** Waits for the whole feed to arrive, and compares what came with it, with what was confirmed and with the records. */
async function isDelivered(
  t: Test,
  url: string,
  target: Target,
  confirmed: readonly ConfirmedWrite[],
): Promise<void> {
  const events = await until('the feed is read to its end', async () => {
    const events = await feedOf(url);
    const known = new Set(events.map(keyOfSent));
    return confirmed.every((each) => known.has(keyOf(each))) && events;
  });
  const ids = () => new Set(target.received.map(({ id }) => id));
  await until(
    'every event arrives',
    async () => {
      const there = ids();
      const missing = events.filter(({ id }) => !there.has(id));
      return missing.length === 0 ? missing : [...missing, await pendingOf(url)];
    },
    ({ length }) => length === 0,
  );
  const sent = target.received.map(({ body }) => JSON.parse(body) as Sent);
  t.equal(ids().size, events.length, 'what is not in the feed is not delivered');
  const byId = new Map(events.map((event) => [event.id, event]));
  t.same(
    sent.filter((each) => JSON.stringify(each) !== JSON.stringify(byId.get(each.id))),
    [],
    'an event arrives as the feed has it',
  );
  t.notOk(
    sent.some(({ data }) => data?.name === ROLLED_BACK),
    'nothing of a batch that failed',
  );
  const firsts = [...new Map(sent.map((each) => [each.id, each])).values()];
  const records = new Map<string, Sent[]>();
  for (const each of firsts) records.set(each.subject, [...(records.get(each.subject) ?? []), each]);
  const unordered = [...records.values()].filter((each) =>
    each.some(({ previous = 0 }, index) => previous !== index),
  );
  t.same(unordered, [], `${records.size} records, each delivered from its first version on, in order`);
  const all = (await send(url, 'GET', '/items?sort=created_at')).json as { id: string; _version: number }[];
  const last = [...records.values()].map((each) => each.at(-1)!).filter(({ data }) => data);
  t.same(
    last.map(({ subject, data }) => `${subject} ${data!._version}`).toSorted(),
    all.map(({ id, _version }) => `/items/${id} ${_version}`).toSorted(),
    'the last delivery of each record is how it is',
  );
  t.comment(`${confirmed.length} confirmed, ${events.length} events, ${sent.length} deliveries`);
}

t.test('a service that is killed again and again under writes: all is delivered, in order', async (t) => {
  const target = await testTarget(t);
  // A killed process leaves its leases: with fewer places each kill would end the deliveries until those end.
  const concurrency = { webhookConcurrency: 8, webhookTargetConcurrency: 100 };
  const DATABASE_URL = await testDatabase(t);
  const constants = replacing({ ...TIMEOUT, ...PATIENT, ...concurrency });
  const env = { ...LOOPBACK, ...constants, DATABASE_URL };
  const confirmed: ConfirmedWrite[] = [];
  for (let kill = 0; kill < times(2, 4, 10); kill++) {
    const service = startProcess(t, env, WITH_CONSTANTS);
    const url = await service.ready();
    if (kill === 0) await makeAt(url, target);
    const [before, arrived] = [confirmed.length, target.received.length];
    // A write that the kill leaves without a response is no fault.
    const writers = Array.from({ length: 8 }, () => write(url, confirmed).catch(() => undefined));
    const enough = 20 + kill * 60;
    await until('some is written', () => confirmed.length - before > enough);
    await untilAtLeast('some is delivered', () => target.received, arrived + 1);
    service.child.kill('SIGKILL');
    await service.ended;
    await Promise.all(writers);
  }
  await endLeases(DATABASE_URL);
  const service = startProcess(t, env, WITH_CONSTANTS);
  await isDelivered(t, await service.ready(), target, confirmed);
});

t.test('a target that is down while all is written: all is delivered when it is up, in order', async (t) => {
  const down = await testTarget(t, undefined, await claimPort(t));
  await down.close();
  const { url } = await testService(t, LOOPBACK, PATIENT);
  const id = await makeAt(url, down);
  const confirmed: ConfirmedWrite[] = [];
  await Promise.all(Array.from({ length: 8 }, () => write(url, confirmed, () => confirmed.length > 100)));
  await until('it was tried in vain', async () => {
    const { json } = await send(url, 'GET', `/webhooks/${id}/deliveries?status=pending`);
    return json.data.some(({ tries }: { tries: number }) => tries > 1);
  });
  const up = await testTarget(t, undefined, Number(new URL(down.url).port));
  await isDelivered(t, url, up, confirmed);
  t.equal(down.received.length, 0);
});

for (const fault of some(['stop', 'kill'] as const, 1)) {
  t.test(`a database that is away (${fault}) during deliveries: the service goes on with them`, async (t) => {
    const victim = await testPostgres(t, TRANSPORTS.at(-1));
    // A receiver that takes a while, so that deliveries are in flight when the database goes.
    const target = await testTarget(t, (_, res) => void pause(20).then(() => res.writeHead(204).end()));
    const settings = { ...LOOPBACK, DATABASE_URL: await victim.database(), DB_TIMEOUT_MS: '2000' };
    const constants = replacing({ ...TIMEOUT, ...PATIENT });
    const service = startProcess(t, { ...settings, ...constants }, WITH_CONSTANTS);
    const url = await service.ready();
    await makeAt(url, target);
    const confirmed: ConfirmedWrite[] = [];
    let stopped = false;
    const client = async () => {
      while (!stopped) {
        await write(url, confirmed, () => stopped, 50);
        // The client is refused meanwhile, and does not try again at once.
        await pause(50);
      }
    };
    const clients = Promise.all(Array.from({ length: 4 }, client));
    await untilAtLeast('some is delivered', () => target.received, 21);
    await victim[fault]();
    await victim.start();
    const before = target.received.length;
    await untilAtLeast('deliveries go on', () => target.received, before + 20);
    stopped = true;
    await clients;
    await isDelivered(t, url, target, confirmed);
    t.equal(service.child.exitCode, null, 'the service is the same process');
  });
}

t.test('a new webhook gets what happens from then on, and not what was final before', async (t) => {
  const databaseUrl = await testDatabase(t);
  const first = await testService(t, { DATABASE_URL: databaseUrl, WEBHOOK_DELIVERY: 'off' });
  const create = (name: string) => first.send('POST', '/items', { body: { name } });
  await create('before');
  const target = await testTarget(t);
  const service = await testService(t, { ...LOOPBACK, DATABASE_URL: databaseUrl });
  // As this process sees it: each has a horizon of its own, which the transactions of other tests hold back.
  await untilLength('it is final', async () => (await service.send('GET', '/events')).json.data, 1);
  await makeWebhook(service, target.url);
  await create('after');
  const names = () => target.received.map(({ body }) => JSON.parse(body).data.name);
  await until(
    'it is delivered',
    () => names(),
    (seen) => seen.includes('after'),
  );
  t.same(names(), ['after']);
});

t.test('without events there are only tests of webhooks', async (t) => {
  const service = await testService(t, { ...LOOPBACK, EVENTS: 'off' });
  const target = await testTarget(t);
  const { id } = await makeWebhook(service, target.url);
  t.equal((await service.send('POST', '/items', { body: { name: 'A' } })).status, 201);
  t.equal((await service.send('POST', `/webhooks/${id}/test`)).status, 202);
  await untilAtLeast('the test arrives', () => target.received, 1);
  const { json } = await service.send('GET', `/webhooks/${id}/deliveries`);
  t.same(
    json.data.map(({ type }: { type: string }) => type),
    ['webhooks.test'],
  );
  t.equal(target.received.length, 1);
});
