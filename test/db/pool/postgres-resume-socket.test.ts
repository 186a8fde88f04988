import { getDefaultHighWaterMark } from 'node:stream';
import t from 'tap';
import { Connection } from '../../../src/db/pool/connection.js';
import { resumeSocket } from '../../../src/db/pool/postgres-resume-socket.js';
import { testDatabase } from '../../support/service.js';

t.test('the driver leaves its socket paused after the rows of a COPY, until it is resumed', async (t) => {
  const options = { url: await testDatabase(t), settings: {} };
  const connection = await new Connection(options, () => undefined).opened;
  t.teardown(() => connection.end());
  let isPaused = false;
  // One row, larger than the stream's buffer, so that its end comes while the socket is paused. It may come in two reads.
  const size = getDefaultHighWaterMark(false) + 4000;
  for (let attempt = 0; attempt < 50 && !isPaused; attempt++) {
    const rows = await connection.sql.unsafe(`copy (select repeat('x', ${size})) to stdout`).readable();
    let bytes = 0;
    for await (const chunk of rows) bytes += chunk.length;
    t.equal(bytes, size + 1);
    isPaused = connection.paused;
    resumeSocket(rows);
  }
  t.ok(isPaused);
  t.notOk(connection.paused);
  t.same(await connection.sql`select 1 as one`, [{ one: 1 }]);
});
