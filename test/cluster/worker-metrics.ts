import cluster from 'node:cluster';
import { MetricsCollector } from '../../src/cluster/metrics-collector.js';
import { joinPrimary } from '../../src/cluster/primary-client.js';
import { Supervisor, sendTo } from '../../src/cluster/supervisor.js';
import { createLog } from '../../src/telemetry/log.js';

/** Three workers: the third never responds, and the first prints the metrics of all. */
async function primary(): Promise<void> {
  const workers = () => Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? []);
  const collector = new MetricsCollector(
    workers,
    ({ id }, order) => sendTo(cluster.workers?.[id], order),
    300,
  );
  const supervisor = new Supervisor(
    {
      count: 3,
      env: () => ({}),
      onStart: () => undefined,
      onEnd: (worker) => collector.forget(worker),
      onReport: async (worker, report) => {
        if (report.report === 'metrics') collector.receive(worker, report.request, report.metrics);
        if (report.report !== 'collect') return;
        sendTo(worker, { order: 'collected', request: report.request, metrics: await collector.collect() });
      },
      stopMs: 5000,
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
  const joined = joinPrimary({
    stop: () => process.exit(0),
    reload: () => undefined,
    // The order to begin.
    setMaintenance: async () => {
      const metrics = await joined.collect();
      process.stdout.write(JSON.stringify([...metrics].sort()));
      process.send!('printed');
    },
    metrics: async () => {
      // Busy for longer than the primary waits.
      if (id === 3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
      return id;
    },
  });
  joined.ready('');
}

if (cluster.isPrimary) await primary();
else worker(cluster.worker!.id);
