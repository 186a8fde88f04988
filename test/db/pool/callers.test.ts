import { AsyncLocalStorage } from 'node:async_hooks';
import { connect } from '../../../src/db/db.js';
import { testDatabase } from '../../support/service.js';
import t from '../../support/test.js';

t.test('work that waited for a connection runs in the context of its own caller', async (t) => {
  const pools = { dbConnections: 1, dbSearches: 1, dbStreams: 1, queue: 1000 };
  const db = connect(await testDatabase(t), {
    ...pools,
    dbTimeoutMs: 20_000,
    tombstones: false,
    events: false,
  });
  t.teardown(() => db.close());
  const callers = new AsyncLocalStorage<number>();
  const seen = Array.from({ length: 5 }, (_, caller) =>
    callers.run(caller, () =>
      db.transaction(async (run) => {
        const before = callers.getStore();
        await run('select 1 as one', []);
        return [before, callers.getStore()];
      }),
    ),
  );
  t.same(
    await Promise.all(seen),
    [0, 1, 2, 3, 4].map((caller) => [caller, caller]),
  );
});
