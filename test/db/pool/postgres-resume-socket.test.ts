import t from 'tap';
import { Connection } from '../../../src/db/pool/connection.js';
import { resumeSocket } from '../../../src/db/pool/postgres-resume-socket.js';
import { testDatabase } from '../../support/service.js';

t.test('the driver leaves its socket paused after the rows of a COPY, until it is resumed', async (t) => {
  const options = { url: await testDatabase(t), settings: {} };
  const connection = await new Connection(options, () => undefined).opened;
  t.teardown(() => connection.end());
  // One row, larger than the stream's buffer and smaller than one read of the socket.
  const rows = await connection.sql.unsafe(`copy (select repeat('x', 20000)) to stdout`).readable();
  let bytes = 0;
  for await (const chunk of rows) bytes += chunk.length;
  t.equal(bytes, 20_001);
  t.ok(connection.paused);
  resumeSocket(rows);
  t.notOk(connection.paused);
  t.same(await connection.sql`select 1 as one`, [{ one: 1 }]);
});
