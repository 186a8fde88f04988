import { counter, histogram, single } from '../../src/telemetry/instruments.js';
import t from '../support/test.js';

t.test('a counter has a cell for each combination of label values', async (t) => {
  const requests = counter('requests_total', 'Requests.', ['method', 'route']);
  requests.of('GET', '/a').value++;
  requests.of('GET', '/a').value++;
  requests.of('GET', '/b').value++;
  t.same(requests.family.samples(), [
    { labels: { method: 'GET', route: '/a' }, value: 2 },
    { labels: { method: 'GET', route: '/b' }, value: 1 },
  ]);
  t.equal(requests.of('GET', '/a'), requests.of('GET', '/a'), 'which is bound once');
});

t.test('combinations beyond the bound share one', async (t) => {
  const failures = counter('failures_total', 'Failures.', ['reason']);
  const first = failures.of('reason 0');
  for (let n = 0; n < 5000; n++) failures.of(`reason ${n}`).value++;
  const samples = failures.family.samples();
  t.equal(samples.length, 2001);
  t.same(samples.at(-1), { labels: { reason: 'other' }, value: 3000 });
  t.equal(failures.of('reason 0'), first, 'and those that are there stay');
});

t.test('a histogram counts each value below its bounds, and those above all', async (t) => {
  const duration = histogram('seconds', 'Seconds.', ['route'], [0.1, 1]);
  const cell = duration.of('/a');
  for (const value of [0.05, 0.1, 0.5, 7]) cell.observe(value);
  const exported = duration.family
    .samples()
    .map(({ labels, value, metricName }) => [metricName, labels.le, value]);
  t.same(exported, [
    ['seconds_bucket', '0.1', 2],
    ['seconds_bucket', '1', 3],
    ['seconds_bucket', '+Inf', 4],
    ['seconds_sum', undefined, 7.65],
    ['seconds_count', undefined, 4],
  ]);
});

t.test('a metric without labels is read when it is scraped', async (t) => {
  const depth = single('depth', 'Depth.', 'gauge');
  depth.value = 5;
  t.same(depth.family.samples(), [{ labels: {}, value: 5 }]);
});
