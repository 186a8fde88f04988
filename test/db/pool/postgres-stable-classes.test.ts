import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import type postgres from 'postgres';
import { serversOf } from '../../../src/database-url/servers.js';
import { Connection } from '../../../src/db/pool/connection.js';
import { stabilizeClasses } from '../../../src/db/pool/postgres-patches.js';
import { testDatabase } from '../../support/service.js';
import t from '../../support/test.js';

setFlagsFromString('--allow-natives-syntax');
const isFast = runInThisContext('(object) => %HasFastProperties(object)') as (object: object) => boolean;

t.test('V8 no longer stores a class with a computed static member as a dictionary', async (t) => {
  class Slow extends Array<number> {
    static override get [Symbol.species]() {
      return Array;
    }
  }
  t.notOk(isFast(Slow));
  stabilizeClasses(Slow);
  t.ok(isFast(Slow));
  t.same(
    Slow.of(1, 2).filter((number) => number > 1),
    [2],
  );
  t.equal(Slow[Symbol.species], Array);
});

t.test("the driver's classes need this, and are stable once a connection is open", async (t) => {
  const options = { server: serversOf(await testDatabase(t)).servers[0], settings: {} };
  const connection = await new Connection(options, () => undefined).opened;
  t.teardown(() => connection.end());
  const query: postgres.PendingQuery<postgres.Row[]> = connection.sql`select 1 as one`;
  const rows = await query;
  for (const each of [query.constructor, rows.constructor]) {
    t.ok(Object.hasOwn(each, Symbol.species), `${each.name} has a computed static member`);
    t.ok(isFast(each));
  }
});
