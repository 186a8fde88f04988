import cluster from 'node:cluster';
import { mock } from 'node:test';
import { MetricsCollector } from '../../../src/features/workers/metrics-collector.js';
import { joinPrimary, type Orders } from '../../../src/features/workers/primary-client.js';
import { Supervisor, sendTo } from '../../../src/features/workers/supervisor.js';
import { createLog } from '../../../src/telemetry/log.js';

const LIMIT_MS = 600_000;

/** Three workers: the third never responds, and the first prints the metrics of all. */
async function primary(): Promise<void> {
  const workers = () => Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? []);
  const collector = new MetricsCollector(
    workers,
    ({ id }, order) => sendTo(cluster.workers?.[id], order),
    LIMIT_MS,
  );
  let responses = 0;
  const supervisor = new Supervisor(
    {
      count: 3,
      env: () => ({}),
      onStart: () => undefined,
      onEnd: (worker) => collector.forget(worker),
      onReport: async (worker, report) => {
        if (report.report === 'metrics') {
          collector.receive(worker, report.request, report.metrics);
          // The limit is reached once the two have responded, however long that took.
          if (++responses === 2) mock.timers.tick(LIMIT_MS);
        }
        if (report.report !== 'collect') return;
        mock.timers.enable({ apis: ['setTimeout'] });
        const metrics = await collector.collect();
        mock.timers.reset();
        sendTo(worker, { order: 'collected', request: report.request, metrics });
      },
      stopMs: 60_000,
    },
    createLog('silent'),
  );
  await supervisor.start();
  sendTo(workers()[0], { order: 'maintenance', on: true });
  await new Promise<void>((done) => {
    cluster.on('message', (_worker, message) => message === 'printed' && done());
  });
  await supervisor.stop();
}

function worker(id: number): void {
  const orders: Orders = {
    stop: () => process.exit(0),
    reload: () => undefined,
    // The order to begin.
    setMaintenance: async () => {
      const metrics = await joined.collect();
      process.stdout.write(JSON.stringify([...metrics].sort()));
      process.send!('printed');
    },
    metrics: () => (id === 3 ? new Promise<never>(() => undefined) : Promise.resolve(id)),
  };
  const joined = joinPrimary(orders, LIMIT_MS);
  joined.ready('');
}

if (cluster.isPrimary) await primary();
else worker(cluster.worker!.id);
