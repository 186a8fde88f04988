import { once } from 'node:events';
import net from 'node:net';
import { createLog } from '../../src/telemetry/log.js';
import {
  fitOpenFiles,
  fittingConnections,
  openFileLimit,
  otherFiles,
} from '../../src/transport/open-files.js';
import { claimPort } from '../support/claimed-port.js';
import { PROGRAM, startProgram } from '../support/process.js';
import { testProxy } from '../support/proxy.js';
import { send, testDatabase } from '../support/service.js';
import { readSettings } from '../support/settings.js';
import t, { type Test } from '../support/test.js';
import { NO_TIME_LIMITS } from '../support/time-limits.js';
import { until } from '../support/until.js';

t.test('MAX_CONNECTIONS is lowered to what the limit of open files allows, with a warning', async (t) => {
  const config = readSettings({});
  const rest = otherFiles(config);
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => lines.push(line) });
  t.equal(fitOpenFiles(config, log, 16_384 + rest), config);
  t.equal(fitOpenFiles(config, log, undefined), config);
  t.equal(fitOpenFiles(config, log, Number.POSITIVE_INFINITY), config);
  t.same(lines, []);
  t.equal(fitOpenFiles(config, log, 4096).maxConnections, 4096 - rest);
  t.match(lines, [/"limit":4096.*MAX_CONNECTIONS=16384 is lowered to \d+: a process may open 4096 files/]);
  t.equal(fittingConnections(config, 100), 25, 'some remain however low it is');
  t.equal(fittingConnections(readSettings({ MAX_CONNECTIONS: '5' }), 100), 5);
  t.ok(openFileLimit()! > 0);
  t.ok(otherFiles(readSettings({ DB_CONNECTIONS: '4' })) > rest);
});

/** Opens connections that send nothing; those that the service closes do not matter. */
async function holdConnections(t: Test, url: string, count: number): Promise<() => void> {
  const { port } = new URL(url);
  const sockets = Array.from({ length: count }, () =>
    net.connect(Number(port), '127.0.0.1').on('error', () => undefined),
  );
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  const release = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(release);
  return release;
}

for (const workers of ['1', '2'])
  t.test(`WORKERS=${workers}: clients do not end a process that waits for its database`, async (t) => {
    const limit = 400;
    const database = await testDatabase(t);
    const gate = await testProxy(t, database);
    gate.refuse();
    const port = String(await claimPort(t));
    const service = startProgram(
      t,
      'sh',
      ['-c', `ulimit -n ${limit} && exec "$0" "$1"`, process.execPath, PROGRAM],
      { ...NO_TIME_LIMITS, PORT: port, WORKERS: workers, DATABASE_URL: gate.url, DB_START_MS: '3600000' },
    );
    const url = `http://127.0.0.1:${port}`;
    const isWaiting = () => send(url, 'GET', '/readyz').catch(() => undefined);
    await until('it waits', isWaiting, (response) => response?.status === 503);
    t.equal(service.stdout().split('is lowered to').length, 2, 'one warning');
    const release = await holdConnections(t, url, 2 * limit);
    t.equal(service.child.exitCode, null, 'it is the same process');
    await gate.restore();
    t.equal(await service.ready(), url, 'a descriptor for the database is left');
    release();
    service.child.kill('SIGTERM');
    t.equal(await service.ended, 0);
  });

// With less, Node cannot load the modules, of which it opens more than a hundred at once.
for (const limit of [400, 140])
  t.test(`a process that may open ${limit} files survives more connections than that`, async (t) => {
    const service = startProgram(
      t,
      'sh',
      ['-c', `ulimit -n ${limit} && exec "$0" "$1"`, process.execPath, PROGRAM],
      { ...NO_TIME_LIMITS, PORT: '0', DATABASE_URL: await testDatabase(t) },
    );
    const url = await service.ready();
    t.match(service.stdout(), /is lowered to/);
    const release = await holdConnections(t, url, 2 * limit);
    // Whatever the outcome is: each needs a connection, and some a further one to the database.
    await Promise.allSettled(
      Array.from({ length: 40 }, (_, at) =>
        at % 2 === 0
          ? send(url, 'GET', '/items?search=a')
          : send(url, 'POST', '/items', { body: { name: 'a' } }),
      ),
    );
    t.equal(service.child.exitCode, null, 'it is the same process');
    release();
    await until(
      'it works again',
      async () =>
        (await send(url, 'POST', '/items', { body: { name: 'Lamp' } }).catch(() => undefined))?.status,
      (status) => status === 201,
    );
    t.equal(service.stderr(), '');
    service.child.kill('SIGTERM');
    t.equal(await service.ended, 0);
  });
