import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startProcess, until } from '../process.js';
import { type Proxy as Network, testProxy } from '../proxy.js';
import { send } from '../service.js';
import { type Ledger, startLedger } from './ledger.js';
import { testPostgres, type Victim } from './postgres.js';

/** The clients and the checks take their share of two cores: more at once would tell of the machine. */
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

for (const { says, happens, timeoutMs = TIMEOUT_MS } of FAULTS) {
  t.test(`a database that is ${says}: 503 meanwhile, and no write is lost or done twice`, async (t) => {
    const victim = await testPostgres(t);
    const proxy = await testProxy(t, victim.url);
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
    t.strictSame([...ledger.faults], [], 'and got an answer that tells what to do');
    t.strictSame(await ledger.compare(), [], 'what was answered is there once');
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
    // One that was answered 503 may be there.
    return (
      (made.status === 201 || made.status === 409) &&
      (await send(url, 'GET', '/users?limit=1')).status === 200
    );
  });
}

async function staysUp(t: Test, service: ReturnType<typeof startProcess>): Promise<void> {
  t.equal(service.child.exitCode, null, 'the service is the same process');
  t.equal(service.stderr(), '', 'which had nothing to tell of itself');
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
}
