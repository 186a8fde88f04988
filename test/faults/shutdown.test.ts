import { readFileSync } from 'node:fs';
import http from 'node:http';
import { startProcess } from '../support/process.js';
import { send } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { until, untilAtLeast } from '../support/until.js';
import { scrape } from '../telemetry/scraped.js';
import { type KeepAliveLoad, startKeepAlive } from './keep-alive.js';
import { fill, RECORDS } from './large-list.js';
import { TRANSPORTS, testPostgres } from './postgres.js';

t.jobs = 1;

const TRANSPORT = TRANSPORTS.at(-1)!;
const secured = await testPostgres(t, TRANSPORT);

const CLIENTS = 64;
/** Nothing is cut off, however slow the machine is. */
const PATIENCE = { SHUTDOWN_MS: '600000' };

/** Every request got its response, and its record is there once. */
async function isWhole(t: Test, url: string, { confirmed, failed }: KeepAliveLoad): Promise<void> {
  t.strictSame(failed, [], 'no request failed');
  const names = ((await send(url, 'GET', '/items?sort=created_at')).json as { name: string }[]).map(
    ({ name }) => name,
  );
  t.equal(names.length, confirmed.size, 'each was done once');
  t.equal(new Set(names).size, confirmed.size);
}

t.test(`SIGTERM under full load: not one request of ${CLIENTS} keep-alive clients fails`, async (t) => {
  const env = { DATABASE_URL: await secured.database(), ...PATIENCE };
  const [first, second] = [startProcess(t, env), startProcess(t, env)];
  const urls = [await first.ready(), await second.ready()];
  const load = startKeepAlive(urls, CLIENTS);
  await untilAtLeast('the load runs', () => load.confirmed.size, 101);
  const before = load.confirmed.size;
  first.child.kill('SIGTERM');
  t.equal(await first.ended, 0);
  t.equal(load.closed(), CLIENTS, 'every connection got Connection: close');
  await untilAtLeast('the load goes on', () => load.confirmed.size, before + 100);
  await load.stop();
  t.comment(`${load.confirmed.size} requests, ${load.failed.length} failed`);
  await isWhole(t, urls[1]!, load);
  t.equal(first.stderr(), '');
});

/** How many connections to a port of 127.0.0.1 have received bytes that no program has read. */
function unread(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, from, , state, queues]) => from === local && state === '01' && !queues!.endsWith(':00000000'))
    .length;
}

t.test('connections that were waiting to be accepted get a response, not a reset', async (t) => {
  const service = startProcess(t, { DATABASE_URL: await secured.database(), ...PATIENCE });
  const url = await service.ready();
  service.child.kill('SIGSTOP');
  const requests = Array.from({ length: 32 }, (_, at) =>
    send(url, 'POST', '/items', { body: { name: `${at}` } }),
  );
  await until(
    'the kernel has the connections, and what they sent',
    () => unread(Number(new URL(url).port)),
    requests.length,
  );
  service.child.kill('SIGTERM');
  service.child.kill('SIGCONT');
  for (const response of await Promise.all(requests)) {
    t.equal(response.status, 201);
    t.equal(response.headers.connection, 'close');
  }
  t.equal(await service.ended, 0);
});

async function readList(url: string, meanwhile: () => Promise<void>): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get(`${url}/items?sort=created_at`, async (response) => {
      let text = '';
      response.on('error', reject).on('end', () => resolve(text));
      await meanwhile();
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
    });
    request.on('error', reject);
  });
}

t.test(`a list that is being read (${TRANSPORT}) is finished, or cut off after SHUTDOWN_MS`, async (t) => {
  const env = { DATABASE_URL: await secured.database() };
  const patient = startProcess(t, { ...env, ...PATIENCE });
  const url = await patient.ready();
  await fill(url, RECORDS);
  const text = await readList(url, async () => {
    patient.child.kill('SIGTERM');
    await until('no more is accepted', () =>
      send(url, 'GET', '/healthz').then(
        () => false,
        () => true,
      ),
    );
    t.equal(patient.child.exitCode, null, 'it waits for the reader');
  });
  t.equal(JSON.parse(text).length, RECORDS);
  t.equal(await patient.ended, 0);
  t.equal(patient.stderr(), '');

  const impatient = startProcess(t, { ...env, SHUTDOWN_MS: '200' });
  const cut = readList(await impatient.ready(), async () => {
    impatient.child.kill('SIGTERM');
    t.equal(await impatient.ended, 0);
    t.equal(impatient.stderr(), '');
  });
  await t.rejects(cut, 'half an array does not look whole');
});

for (const transport of some(TRANSPORTS, 1))
  t.test(`a database that is frozen (${transport}) does not keep it from ending`, async (t) => {
    const victim = transport === TRANSPORT ? secured : await testPostgres(t, transport);
    t.teardown(() => victim.thaw());
    // The time limit of the database is ten times that of the wait below.
    const service = startProcess(t, {
      DATABASE_URL: await victim.database(),
      DB_TIMEOUT_MS: '600000',
      SHUTDOWN_MS: '500',
    });
    const url = await service.ready();
    victim.freeze();
    const outcome = send(url, 'GET', '/users?limit=1').catch((error: Error) => error);
    await until('it is in flight', async () => (await scrape(url)).value('http_server_active_requests'), 2);
    service.child.kill('SIGTERM');
    t.equal(
      await until(
        'it ends',
        () => service.child.exitCode,
        (code) => code !== null,
      ),
      0,
    );
    t.ok((await outcome) instanceof Error);
  });
