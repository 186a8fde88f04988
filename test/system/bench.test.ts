import { TERMS } from '../../bench/harness/data.js';
import type { Measured } from '../../bench/harness/measure.js';
import type { Row } from '../../bench/harness/row.js';
import type { Figures } from '../../bench/harness/stats.js';
import { judge, ratioOf } from '../../bench/report/judge.js';
import { regressions } from '../../bench/report/results.js';
import { rowsOf } from '../../bench/suites/rows.js';
import t from '../support/test.js';

const measured = (label: string, median: Figures): Measured => ({ label, rounds: [median], median });

const row = (more: Partial<Row> = {}): Row => ({
  ...rowsOf(1000).find(({ name, connections }) => name === 'get one' && connections === 64)!,
  ...more,
});

t.test('targets are held against medians', async (t) => {
  const result = judge(row(), [
    measured('plinth', { rate: 300, p99: 4, nodeUs: 20, pgUs: 5 }),
    measured('handwritten', { rate: 100, p99: 10, pgUs: 10 }),
  ]);
  t.equal(ratioOf(result, 'plinth'), 3);
  t.same(
    result.verdicts.map(({ value, met }) => [value, met]),
    [
      [3, true],
      [0.4, true],
      [0.5, false],
    ],
    'bare was not measured, so what is compared with it is left out',
  );
  const idle = judge(
    row({ targets: [{ metric: 'idleKb', op: '<', bound: 8, above: 'bare' }], base: 'bare' }),
    [measured('plinth', { idleKb: 20 }), measured('bare', { idleKb: 15 })],
  );
  t.same(idle.verdicts[0], { text: 'memory a connection KB above bare < 8', value: 5, met: true });
});

t.test('what has become slower', async (t) => {
  const run = (rate: number) => [
    judge(row(), [measured('plinth', { rate }), measured('handwritten', { rate: 100 })]),
  ];
  t.same(regressions(run(200), run(192)), []);
  t.same(regressions(run(200), run(180)), ['get one (64): 2.00 -> 1.80 x handwritten, 10 % worse']);
  t.same(regressions([], run(180)), [], 'a row that is new has nothing to be compared with');
  const idle = (idleKb: number) => [
    judge(row({ base: 'bare' }), [measured('plinth', { idleKb }), measured('bare', { idleKb: 10 })]),
  ];
  t.equal(regressions(idle(10), idle(12)).length, 1, 'more memory is worse');
  t.same(regressions(idle(12), idle(10)), []);
});

t.test('every row has Plinth first, and targets that name entrants of it', async (t) => {
  for (const { name, connections, entrants, targets, base } of rowsOf(1_000_000)) {
    const labels = entrants.map(({ label }) => label);
    t.equal(labels[0], 'plinth', `${name} (${connections})`);
    t.ok(labels.includes(base));
    for (const { by, above } of targets) t.ok(labels.includes(by ?? above ?? 'plinth'));
  }
  t.equal(new Set(Object.values(TERMS)).size, 6);
});
