import http from 'node:http';
import { stopwatch } from '../support/pause.js';
import { startProcess } from '../support/process.js';
import { type Proxy as Network, testProxy } from '../support/proxy.js';
import { send, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { isThorough } from '../support/thorough.js';
import { until, untilAtLeast } from '../support/until.js';
import { fill, RECORDS } from './large-list.js';
import { type Ledger, startLedger } from './ledger.js';
import { TRANSPORTS, testPostgres, type Victim } from './postgres.js';

/** The clients and the checks take their share of two cores: more at once would measure the machine. */
t.jobs = 1;

const TIMEOUT_MS = 1000;
/** Of the load: so many records before the fault, and as many after it. */
const ENOUGH = 30;
/** Of requests one after the other, so many may be refused once the database can be used: a connection is tried anew 50 ms after a failure. */
const MAX_REFUSED = 10;

interface Fault {
  readonly says: string;
  readonly begins: (scene: Scene) => unknown;
  /** Puts it right again. When it resolves, the database can be used. */
  readonly ends: (scene: Scene) => unknown;
  readonly timeoutMs?: number;
  /** Of a fault that ends before a request that lost its connection reaches the time limit: resolves when it may end. */
  readonly brief?: (scene: Scene) => Promise<unknown>;
}

interface Scene {
  readonly victim: Victim;
  readonly proxy: Network;
}

const FAULTS: readonly Fault[] = [
  { says: 'restarted', begins: ({ victim }) => victim.stop(), ends: ({ victim }) => victim.start() },
  { says: 'killed', begins: ({ victim }) => victim.kill(), ends: ({ victim }) => victim.start() },
  {
    says: 'frozen for longer than the time limit',
    begins: ({ victim }) => victim.freeze(),
    ends: ({ victim }) => victim.thaw(),
  },
  { says: 'cut off by resets', begins: ({ proxy }) => proxy.reset(), ends: ({ proxy }) => proxy.restore() },
  {
    says: 'cut off in silence for longer than the time limit',
    begins: ({ proxy }) => proxy.swallow(),
    ends: ({ proxy }) => proxy.restore(),
  },
  {
    says: 'cut off in silence for a moment of the time limit',
    begins: ({ proxy }) => proxy.swallow(),
    ends: ({ proxy }) => proxy.restore(),
    timeoutMs: 8000,
    brief: ({ proxy }) => untilAtLeast('the service opens connections in vain', () => proxy.swallowed(), 4),
  },
];

const victims = new Map<string, Victim>();
for (const transport of TRANSPORTS) victims.set(transport, await testPostgres(t, transport));
/** Each fault happens to one of the transports in turn, one after the other; in thorough tests to all of them. */
const transportsOf = (fault: number) => (isThorough ? TRANSPORTS : [TRANSPORTS[fault % TRANSPORTS.length]!]);
const CASES = FAULTS.flatMap((fault, at) => transportsOf(at).map((transport) => ({ ...fault, transport })));

for (const { says, begins, ends, timeoutMs = TIMEOUT_MS, brief, transport } of CASES) {
  const victim = victims.get(transport)!;
  t.test(`a database that is ${says} (${transport}): 503, and no write is lost or done twice`, async (t) => {
    const proxy = await testProxy(t, await victim.database());
    const service = startProcess(t, {
      DATABASE_URL: proxy.url,
      DB_TIMEOUT_MS: String(timeoutMs),
      LOG_LEVEL: 'error',
    });
    const url = await service.ready();
    const ledger = await startLedger(t, url);
    await untilAtLeast('the load runs', () => ledger.statuses.get(201) ?? 0, ENOUGH);
    const before = refusals(ledger);
    // A client was refused since the fault began, and all that was in flight at the call has a response.
    const refused = async () => {
      const inFlight = ledger.inFlight();
      await untilAtLeast('clients are refused', () => refusals(ledger), before + 1);
      // While the fault lasts: no request waits for its end.
      await until('all have a response', inFlight, (count) => count === 0);
    };
    const scene = { victim, proxy };
    await begins(scene);
    await (brief?.(scene) ?? refused());
    await ends(scene);
    const recovery = stopwatch();
    const refusedAfter = brief ? 0 : await writes(url);
    const probes = brief ? await probesUntilOneWrites(url) : [];
    const recoveredMs = recovery();
    if (brief) t.equal(refusals(ledger), before, 'it recovers before the time limit of what was cut off');
    await untilAtLeast('clients were refused', () => refusals(ledger), before + 1);
    await until('the load goes on', more(ledger, ENOUGH));
    await Promise.all(probes);
    proxy.endDead();
    await ledger.stop();
    const counts = [...ledger.statuses].map(([status, count]) => `${status}: ${count}`).join(', ');
    t.comment(
      `recovered in ${recoveredMs.toFixed()} ms, slowest ${ledger.slowestMs.toFixed()} ms; ${counts}`,
    );
    if (!brief)
      t.ok(refusedAfter <= MAX_REFUSED, `it recovered after ${refusedAfter} further requests were refused`);
    t.strictSame([...ledger.faults], [], 'and got a response that says what to do');
    t.strictSame(await ledger.compare(), [], 'what was confirmed is there once');
    await staysUp(t, service);
  });
}

const refusals = ({ statuses }: Ledger) => statuses.get(503) ?? 0;

function more({ statuses }: Ledger, count: number): () => boolean {
  const now = statuses.get(201) ?? 0;
  return () => (statuses.get(201) ?? 0) >= now + count;
}

/** Whether a record can be written and read again. */
async function isWritable(url: string): Promise<boolean> {
  const made = await send(url, 'POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
  const read = await send(url, 'GET', '/users?limit=1');
  // A record whose response was 503 may be there.
  return (made.status === 201 || made.status === 409) && read.status === 200;
}

/** Sends requests one after the other until a record can be written and read again; how many were refused. */
async function writes(url: string): Promise<number> {
  let refused = -1;
  await until('it recovers', () => {
    refused++;
    return isWritable(url);
  });
  return refused;
}

/**
 * Sends requests beside each other until one writes and reads a record; all of them. The first ones may come before the service has
 * noticed which connections are dead, and wait there until their time limit.
 */
async function probesUntilOneWrites(url: string): Promise<readonly Promise<void>[]> {
  const probes: Promise<void>[] = [];
  let isRecovered = false;
  await until('it recovers', () => {
    probes.push(
      isWritable(url).then((isDone) => {
        isRecovered ||= isDone;
      }),
    );
    return isRecovered;
  });
  return probes;
}

async function staysUp(t: Test, service: ReturnType<typeof startProcess>): Promise<void> {
  t.equal(service.child.exitCode, null, 'the service is the same process');
  t.equal(service.stderr(), '', 'which had nothing to report');
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
}

for (const transport of transportsOf(FAULTS.length))
  t.test(`a list that a frozen database (${transport}) leaves half sent is cut off`, async (t) => {
    const victim = victims.get(transport)!;
    const databaseUrl = await victim.database();
    const patient = await testService(t, { DATABASE_URL: databaseUrl });
    await fill(patient.url, RECORDS);
    const { url, send } = await testService(t, { DATABASE_URL: databaseUrl, DB_TIMEOUT_MS: '1000' });
    const half = new Promise<string>((resolve, reject) => {
      http.get(`${url}/items?sort=created_at`, (response) => {
        response.once('data', () => {
          response.pause();
          victim.freeze();
          response.resume();
        });
        response.on('error', () => resolve('cut off')).on('end', () => reject(new Error('it looks whole')));
      });
    });
    t.equal(await half, 'cut off');
    const refused = await send('GET', '/items?sort=created_at');
    t.equal(refused.status, 503);
    t.ok(refused.headers['retry-after']);
    victim.thaw();
    const whole = await until(
      'lists are whole again',
      () => send('GET', '/items?sort=created_at'),
      (response) => response.status === 200,
    );
    t.equal(whole.json.length, RECORDS);
  });

t.test('a lock that another holds: 503 in half of the time limit, and nothing was written', async (t) => {
  const service = await testService(t, { DB_TIMEOUT_MS: '2000' });
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe('begin; lock table items in exclusive mode');
  const together = Array.from({ length: 20 }, (_, at) =>
    service.send('POST', '/items', {
      body: { name: `${at}` },
      headers: at % 2 === 0 ? { 'idempotency-key': `key-${at}` } : {},
    }),
  );
  for (const response of await Promise.all(together)) {
    t.equal(response.status, 503);
    t.equal(response.headers['retry-after'], '1');
  }
  t.equal((await service.send('GET', '/items?page=1')).json.meta.total, 0, 'reads go on');
  await sql.unsafe('rollback');
  t.equal((await service.send('POST', '/items', { body: { name: 'after' } })).status, 201);
  t.equal((await service.send('GET', '/items?page=1')).json.meta.total, 1);
});

for (const transport of transportsOf(FAULTS.length + 1))
  t.test(`a transaction whose client vanishes (${transport}) lets go of its locks`, async (t) => {
    const proxy = await testProxy(t, await victims.get(transport)!.database());
    const { db, send: ask } = await testService(t, { DATABASE_URL: proxy.url, DB_TIMEOUT_MS: '1000' });
    const held = db.transaction(async (run) => {
      await run('lock table public_collections.items in exclusive mode', []);
      proxy.swallow();
      await run('select 1', []);
    });
    await t.rejects(held, { code: 'ETIMEDOUT' });
    await proxy.restore();
    await until(
      'the lock is free',
      async () => (await ask('POST', '/items', { body: { name: 'A' } })).status,
      201,
    );
    t.pass('by the server itself: it never heard of the end of its client');
  });
