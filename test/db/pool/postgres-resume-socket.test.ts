import { getDefaultHighWaterMark } from 'node:stream';
import { serversOf } from '../../../src/database-url/servers.js';
import { Connection } from '../../../src/db/pool/connection.js';
import { resumeSocket } from '../../../src/db/pool/postgres-patches.js';
import { testDatabase } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

t.test('the driver leaves its socket paused after the rows of a COPY, until it is resumed', async (t) => {
  const options = { server: serversOf(await testDatabase(t)).servers[0], settings: {} };
  const connection = await new Connection(options, () => undefined).opened;
  t.teardown(() => connection.end());
  // One row, larger than the stream's buffer, so that its end comes while the socket is paused. It may come in two reads.
  const size = getDefaultHighWaterMark(false) + 4000;
  await until('the socket is paused', async () => {
    const rows = await connection.sql.unsafe(`copy (select repeat('x', ${size})) to stdout`).readable();
    let bytes = 0;
    for await (const chunk of rows) bytes += chunk.length;
    t.equal(bytes, size + 1);
    const isPaused = connection.paused;
    resumeSocket(rows);
    return isPaused;
  });
  t.notOk(connection.paused);
  t.same(await connection.sql`select 1 as one`, [{ one: 1 }]);
});
