import { type Model, need, predict, predictMix } from '../../bench/model/constants.js';
import { costAt, fitCost, fitSharing } from '../../bench/model/fit.js';
import { OPERATIONS, READ_MOSTLY, WRITE_MOSTLY } from '../../bench/model/operations.js';
import t from '../support/test.js';

const SIZES = [10_000, 100_000, 1_000_000, 10_000_000];
const NOTHING = { base: 0, perDoubling: 0, perRow: 0 };

const near = (actual: number, expected: number) => Math.abs(actual / expected - 1) < 1e-6;

t.test('the constants are found again', async (t) => {
  const cost = { base: 30, perDoubling: 2, perRow: 0.05 };
  const touched = [100, 5000, 100, 400_000];
  const points = SIZES.map((rows, at) => ({
    rows,
    touched: touched[at]!,
    us: costAt(cost, rows, touched[at]!),
  }));
  const fitted = fitCost(points);
  t.ok(near(fitted.base, 30), `${fitted.base}`);
  t.ok(near(fitted.perDoubling, 2), `${fitted.perDoubling}`);
  t.ok(near(fitted.perRow, 0.05), `${fitted.perRow}`);
  const sharing = fitSharing([1, 4, 64].map((connections) => ({ connections, us: 20 + 50 / connections })));
  t.ok(near(sharing.shared, 20));
  t.ok(near(sharing.alone, 50));
});

const spent = { nodeUs: 1, pgUs: 1, walBytes: 10, imageBytes: 20 };

const model: Model = {
  sizes: SIZES,
  idle: { node: 0.001, pg: 0.001 },
  costs: Object.fromEntries(
    OPERATIONS.map(({ name }) => [name, { node: { ...NOTHING, base: 100 }, pg: { ...NOTHING, base: 50 } }]),
  ),
  sharing: { read: { node: { shared: 90, alone: 640 }, pg: { shared: 40, alone: 64 } } },
  bytes: {
    heap: { 10000: 300 },
    indexes: { 10000: 280 },
    index: { items_pkey: 32 },
    event: 240,
    buckets: { 10000: 400 },
    connection: 9000,
    session: 5_000_000,
    process: 90_000_000,
  },
  measured: { read: { 10000: spent } },
  validation: [{ what: 'read', predicted: { nodeUs: 2, pgUs: 4 }, measured: { nodeUs: 3, pgUs: 4 } }],
};

t.test('predictions', async (t) => {
  t.same(predict(model, 'read', 1000), { nodeUs: 100, pgUs: 50 });
  t.same(predict(model, 'read', 1000, 1), { nodeUs: 730, pgUs: 113 }, 'a request that is alone');
  t.same(predict(model, 'delete', 1000, 1), { nodeUs: 100, pgUs: 50 }, 'nothing is shared');
  t.same(predictMix(model, { read: 0.5, delete: 0.5 }, 1000, 128), { nodeUs: 100, pgUs: 50 });
  t.same(need(model, { delete: 1 }, 1000, 20_000), {
    nodeCores: 2,
    pgCores: 2,
    processes: 3,
    sessions: 36,
  });
  t.throws(() => predict(model, 'absent', 1000), /absent/);
});

t.test('the parts of a mix are parts of one', async (t) => {
  for (const mix of [READ_MOSTLY, WRITE_MOSTLY]) {
    t.ok(
      near(
        Object.values(mix).reduce((sum, part) => sum + part, 0),
        1,
      ),
    );
    t.same(
      Object.keys(mix).filter((name) => !OPERATIONS.some((operation) => operation.name === name)),
      [],
    );
  }
});
