import cluster from 'node:cluster';
import { createCollector } from '../../src/cluster/metrics-collector.js';
import { joinPrimary } from '../../src/cluster/primary-client.js';
import { startCrew, tell } from '../../src/cluster/supervisor.js';
import { createLog } from '../../src/telemetry/log.js';

/** Three workers, of which the third never tells its figures; the first prints what it is given of all. */
async function primary(): Promise<void> {
  const workers = () => Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? []);
  const collector = createCollector(workers, ({ id }, order) => tell(cluster.workers?.[id], order), 300);
  const crew = await startCrew(
    {
      count: 3,
      env: () => ({}),
      onStart: () => undefined,
      onEnd: collector.forget,
      onReport: async (worker, report) => {
        if (report.report === 'figures') collector.take(worker, report.question, report.figures);
        if (report.report !== 'collect') return;
        tell(worker, { order: 'collected', question: report.question, figures: await collector.collect() });
      },
      stopMs: 5000,
    },
    createLog('silent'),
  );
  tell(workers()[0], { order: 'maintenance', on: true });
  await new Promise<void>((done) => {
    cluster.on('message', (_worker, message) => message === 'printed' && done());
  });
  await crew.stop();
}

function worker(id: number): void {
  const joined = joinPrimary({
    stop: () => process.exit(0),
    reload: () => undefined,
    // The word to begin.
    setMaintenance: async () => {
      const figures = await joined.collect();
      process.stdout.write(JSON.stringify([...figures].sort()));
      process.send!('printed');
    },
    figures: async () => {
      // Busy for longer than it is waited for.
      if (id === 3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
      return id;
    },
  });
  joined.ready('');
}

if (cluster.isPrimary) await primary();
else worker(cluster.worker!.id);
