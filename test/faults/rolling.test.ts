import { claimPort } from '../support/claimed-port.js';
import { processOf, type ServiceProcess, startProcess } from '../support/process.js';
import { send } from '../support/service.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';
import { until, untilAtLeast } from '../support/until.js';
import { missingHaproxy, testHaproxy } from './haproxy.js';
import { startKeepAlive } from './keep-alive.js';
import { TRANSPORTS, testPostgres } from './postgres.js';

const CLIENTS = 64;
/** Restarts take most of the time: at any moment of them, some requests are in flight, and the connections of all are open. */
const PACE_MS = 400;
const ROUNDS = times(1, 1, 4);

const skip = missingHaproxy() ?? false;

t.test('behind haproxy both services are restarted in turn: no request is lost', { skip }, async (t) => {
  const { url: databaseUrl } = await testPostgres(t, TRANSPORTS.at(-1));
  const ports = [await claimPort(t), await claimPort(t)];
  const start = async (port: number): Promise<ServiceProcess> => {
    const service = startProcess(t, {
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      // In which haproxy sees it, also on a slow machine.
      SHUTDOWN_DELAY_MS: '3000',
      SHUTDOWN_MS: '600000',
    });
    await service.ready();
    return service;
  };
  const services = [await start(ports[0]!), await start(ports[1]!)];
  const url = await testHaproxy(t, ports);
  const load = startKeepAlive([url], CLIENTS, PACE_MS);
  const goesOn = (): Promise<unknown> => {
    const now = load.confirmed.size;
    return untilAtLeast('the load goes on', () => load.confirmed.size, now + 100);
  };
  await goesOn();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, port] of ports.entries()) {
      services[at]!.child.kill('SIGTERM');
      t.equal(await services[at]!.ended, 0);
      t.equal(services[at]!.stderr(), '');
      services[at] = await start(port);
      // haproxy has to have seen it, or there would be none for a moment.
      await until(
        'haproxy has both',
        async () => {
          const seen = new Set<string>();
          for (let n = 0; n < 8; n++) seen.add(processOf(await send(url, 'GET', '/healthz')));
          const ready = await Promise.all(ports.map((to) => readinessOf(`http://127.0.0.1:${to}`)));
          return { processes: [...seen], ready };
        },
        ({ processes }) => processes.length === 2,
      );
      await goesOn();
    }
  }
  await load.stop();
  t.comment(`${load.confirmed.size} requests through ${2 * ROUNDS} restarts, ${load.failed.length} failed`);
  t.strictSame(load.failed, []);
  const names = ((await send(url, 'GET', '/items?sort=created_at')).json as { name: string }[]).map(
    ({ name }) => name,
  );
  t.equal(names.length, load.confirmed.size, 'each was done once');
  t.equal(new Set(names).size, load.confirmed.size);
});

/** The response by which haproxy decides whether a service is ready. */
const readinessOf = async (base: string): Promise<string> => {
  const { status, text } = await send(base, 'GET', '/readyz');
  return `${status} ${text}`;
};
