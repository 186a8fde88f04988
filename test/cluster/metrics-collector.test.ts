import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Order } from '../../src/cluster/messages.js';
import { createCollector } from '../../src/cluster/metrics-collector.js';
import { startNode } from '../support/process.js';

const teller = (id: number, connected = true) => ({ id, isConnected: () => connected });

/** A collector over these workers, with what it tells them. */
function open(tellers: ReturnType<typeof teller>[], answerMs: number) {
  const told: [number, Order][] = [];
  const collector = createCollector(
    () => tellers,
    ({ id }, order) => told.push([id, order]),
    answerMs,
  );
  return { collector, told };
}

t.test('figures of all workers come together, of one that has ended or is late not', async (t) => {
  const tellers = [teller(1), teller(2), teller(3), teller(4, false)];
  const { collector, told } = open(tellers, 60_000);
  const asked = collector.collect();
  t.equal(collector.collect(), asked, 'who asks meanwhile gets the same round');
  const question = 1;
  t.same(
    told,
    [1, 2, 3].map((id) => [id, { order: 'figures', question }]),
  );
  collector.take(tellers[0]!, question, 'a');
  collector.take(tellers[0]!, question, 'a again');
  collector.take(tellers[1]!, 7, 'of another round');
  collector.forget(tellers[2]!);
  collector.take(tellers[1]!, question, 'b');
  t.same(await asked, ['a', 'b']);

  const late = open(tellers, 5);
  const second = late.collector.collect();
  late.collector.take(tellers[1]!, 1, 'b');
  t.same(await second, ['b']);
  late.collector.take(tellers[0]!, 1, 'too late');
  t.same(await open([], 60_000).collector.collect(), []);
});

t.test('a worker gets the figures of all, but for one that does not answer', async (t) => {
  const program = fileURLToPath(new URL('./worker-metrics.js', import.meta.url));
  const run = startNode(t, [program], {});
  t.equal(await run.ended, 0, run.stderr());
  t.same(JSON.parse(run.stdout()), [1, 2]);
});
