import { singleFlight } from '../../src/work/shared-runs.js';
import t from '../support/test.js';

const tick = () => new Promise<void>((done) => setImmediate(done));

t.test('concurrent calls share one run and its outcome; a later call starts another', async (t) => {
  let runs = 0;
  const call = singleFlight(async () => {
    runs++;
    await tick();
    if (runs === 2) throw new Error('refused');
    return runs;
  });
  t.same(await Promise.all([call(), call()]), [1, 1]);
  for (const { status } of await Promise.allSettled([call(), call()])) t.equal(status, 'rejected');
  t.equal(await call(), 3);
});
