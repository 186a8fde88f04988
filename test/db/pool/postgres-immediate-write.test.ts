import net from 'node:net';
import { connect } from '../../../src/db/db.js';
import { padForImmediateWrite } from '../../../src/db/pool/prepared.js';
import { testDatabase } from '../../support/service.js';
import t from '../../support/test.js';

const OPTIONS = {
  dbConnections: 1,
  dbSearches: 1,
  dbStreams: 1,
  queue: 10,
  dbTimeoutMs: 10_000,
  events: false,
  tombstones: false,
};
const STATEMENT = 'select cardinality($1::text[]) as many';

t.test('a statement is written in its tick if its parameter is filled up, else in the next', async (t) => {
  const db = connect(await testDatabase(t), OPTIONS);
  t.teardown(() => db.close());
  // Prepared, and its connection open.
  await db.run(STATEMENT, ['{}']);
  const writes = t.capture(net.Socket.prototype, 'write', net.Socket.prototype.write);
  for (const [parameter, count] of [
    ['{a,b}', 0],
    [padForImmediateWrite('{a,b}'), 1],
  ] as const) {
    const rows = db.run(STATEMENT, [parameter]);
    // The end of the microtasks; the tick goes on.
    await new Promise<void>((done) => process.nextTick(done));
    t.equal(writes().length, count);
    t.same(await rows, [{ many: 2 }]);
    writes();
  }
});
