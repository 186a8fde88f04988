import { fileURLToPath } from 'node:url';
import type { WorkerOrder } from '../../../src/features/workers/messages.js';
import { MetricsCollector } from '../../../src/features/workers/metrics-collector.js';
import { startNode } from '../../support/process.js';
import t from '../../support/test.js';

const worker = (id: number, connected = true) => ({ id, isConnected: () => connected });

/** A collector over these workers, with what it sends them. */
function open(workers: ReturnType<typeof worker>[], responseMs: number) {
  const sent: [number, WorkerOrder][] = [];
  const collector = new MetricsCollector(
    () => workers,
    ({ id }, order) => sent.push([id, order]),
    responseMs,
  );
  return { collector, sent };
}

t.test('the metrics of all workers are collected, except of one that has ended or is late', async (t) => {
  const workers = [worker(1), worker(2), worker(3), worker(4, false)];
  const { collector, sent } = open(workers, 60_000);
  const collected = collector.collect();
  t.equal(collector.collect(), collected, 'a call during a round shares it');
  const request = 1;
  t.same(
    sent,
    [1, 2, 3].map((id) => [id, { order: 'metrics', request }]),
  );
  collector.receive(workers[0]!, request, 'a');
  collector.receive(workers[0]!, request, 'a again');
  collector.receive(workers[1]!, 7, 'of another round');
  collector.forget(workers[2]!);
  collector.receive(workers[1]!, request, 'b');
  t.same(await collected, ['a', 'b']);

  const late = open(workers, 5);
  const second = late.collector.collect();
  late.collector.receive(workers[1]!, 1, 'b');
  t.same(await second, ['b']);
  late.collector.receive(workers[0]!, 1, 'too late');
  t.same(await open([], 60_000).collector.collect(), []);
});

t.test('a worker gets the metrics of all except one that does not respond', async (t) => {
  const program = fileURLToPath(new URL('./worker-metrics.js', import.meta.url));
  const run = startNode(t, [program], {});
  t.equal(await run.ended, 0, run.stderr());
  t.same(JSON.parse(run.stdout()), [1, 2]);
});
