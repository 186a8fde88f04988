import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { startProcess, until } from '../support/process.js';
import { type Proxy as Network, testProxy } from '../support/proxy.js';
import { send, testService } from '../support/service.js';
import { type Ledger, startLedger } from './ledger.js';
import { testPostgres, type Victim } from './postgres.js';

/** The clients and the checks take their share of two cores: more at once would measure the machine. */
t.jobs = 1;

const TIMEOUT_MS = 2000;
const RECOVERY_MS = 2000;
/** What a machine that is busy with the test itself may add to a time limit. */
const SLACK_MS = 1500;

interface Fault {
  readonly says: string;
  readonly timeoutMs?: number;
  /** Does it, and puts it right again: `back` is called at the moment from which the database could be used. */
  readonly happens: (scene: Scene, back: () => void) => Promise<void>;
}

interface Scene {
  readonly victim: Victim;
  readonly proxy: Network;
  readonly ledger: Ledger;
  /** Resolves when a client was refused since the fault began. */
  readonly refused: () => Promise<unknown>;
}

const FAULTS: readonly Fault[] = [
  {
    says: 'restarted',
    happens: async ({ victim, refused }, back) => {
      await victim.stop();
      await refused();
      await victim.start();
      back();
    },
  },
  {
    says: 'killed',
    happens: async ({ victim, refused }, back) => {
      await victim.kill();
      await refused();
      await victim.start();
      back();
    },
  },
  {
    says: 'frozen for longer than the time limit',
    happens: async ({ victim, refused }, back) => {
      victim.freeze();
      await sleep(1.5 * TIMEOUT_MS);
      await refused();
      victim.thaw();
      back();
    },
  },
  {
    says: 'cut off by resets',
    happens: async ({ proxy, refused }, back) => {
      proxy.reset();
      await refused();
      await sleep(500);
      await proxy.restore();
      back();
    },
  },
  {
    says: 'cut off in silence for longer than the time limit',
    happens: async ({ proxy, refused }, back) => {
      proxy.swallow();
      await sleep(1.5 * TIMEOUT_MS);
      await refused();
      await proxy.restore();
      back();
    },
  },
  {
    says: 'cut off in silence for a moment of the time limit',
    timeoutMs: 8000,
    happens: async ({ proxy }, back) => {
      proxy.swallow();
      await sleep(1500);
      await proxy.restore();
      back();
    },
  },
];

const victim = await testPostgres(t);

for (const { says, happens, timeoutMs = TIMEOUT_MS } of FAULTS) {
  t.test(`a database that is ${says}: 503 meanwhile, and no write is lost or done twice`, async (t) => {
    const proxy = await testProxy(t, await victim.database());
    const service = startProcess(t, {
      DATABASE_URL: proxy.url,
      DB_TIMEOUT_MS: String(timeoutMs),
      LOG_LEVEL: 'error',
    });
    const url = await service.ready();
    const ledger = await startLedger(t, url);
    await until('the load runs', () => (ledger.statuses.get(201) ?? 0) > 200);
    const before = refusals(ledger);
    const refused = () => until('clients are refused', () => refusals(ledger) > before);
    let recoveredMs = 0;
    await happens({ victim, proxy, ledger, refused }, () => {
      recoveredMs = -performance.now();
    });
    await writes(url);
    recoveredMs += performance.now();
    await until('the load goes on', more(ledger, 200));
    await ledger.stop();
    const counts = [...ledger.statuses].map(([status, count]) => `${status}: ${count}`).join(', ');
    t.comment(
      `recovered in ${recoveredMs.toFixed()} ms, slowest ${ledger.slowestMs.toFixed()} ms; ${counts}`,
    );
    t.ok(refusals(ledger) > before, 'clients were refused meanwhile');
    t.ok(recoveredMs <= RECOVERY_MS, `it recovered within ${RECOVERY_MS} ms`);
    t.ok(ledger.slowestMs <= timeoutMs + SLACK_MS, 'nobody waited for long');
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

/** Resolves when a record can be written and read again. */
function writes(url: string): Promise<unknown> {
  return until('it recovers', async () => {
    const made = await send(url, 'POST', '/users', { body: { email: 'a@example.org', name: 'A' } });
    // One whose response was 503 may be there.
    return (
      (made.status === 201 || made.status === 409) &&
      (await send(url, 'GET', '/users?limit=1')).status === 200
    );
  });
}

async function staysUp(t: Test, service: ReturnType<typeof startProcess>): Promise<void> {
  t.equal(service.child.exitCode, null, 'the service is the same process');
  t.equal(service.stderr(), '', 'which had nothing to report');
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
}

t.test(
  'a whole list that a frozen database leaves half sent is cut off, and one that has not begun is 503',
  async (t) => {
    const victim = await testPostgres(t);
    const { url, send } = await testService(t, { DATABASE_URL: victim.url, DB_TIMEOUT_MS: '1000' });
    const note = 'x'.repeat(100_000);
    for (let n = 0; n < 300; n++) await send('POST', '/items', { body: { name: `${n}`, note } });
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
    const whole = await until('lists are whole again', async () => {
      const response = await send('GET', '/items?sort=created_at');
      return response.status === 200 && response;
    });
    t.equal(whole.json.length, 300);
  },
);

t.test('a lock that another holds: 503 in half of the time limit, and nothing was written', async (t) => {
  const service = await testService(t, { DB_TIMEOUT_MS: '2000' });
  const sql = postgres(service.databaseUrl, { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end());
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

t.test('a transaction whose client vanishes lets go of its locks', async (t) => {
  const proxy = await testProxy(t, await victim.database());
  const { db, send: ask } = await testService(t, { DATABASE_URL: proxy.url, DB_TIMEOUT_MS: '1000' });
  const held = db.transaction(async (run) => {
    await run('lock table items in exclusive mode', []);
    proxy.swallow();
    await run('select 1', []);
  });
  await t.rejects(held, { code: 'ETIMEDOUT' });
  await proxy.restore();
  await until(
    'the lock is free',
    async () => (await ask('POST', '/items', { body: { name: 'A' } })).status === 201,
  );
  t.pass('by the server itself: it never heard of the end of its client');
});
