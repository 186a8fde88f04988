import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import type postgres from 'postgres';
import t from 'tap';
import { openConnection } from '../../../src/db/pool/connection.js';
import { stabilizeClasses } from '../../../src/db/pool/postgres-parse-cache.js';
import { testDatabase } from '../../support/service.js';

setFlagsFromString('--allow-natives-syntax');
const isFast = runInThisContext('(object) => %HasFastProperties(object)') as (object: object) => boolean;

t.test('a class with a computed static member is no dictionary any more', async (t) => {
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

t.test("so are the driver's, once a connection is open", async (t) => {
  const { opened } = openConnection({ url: await testDatabase(t), settings: {} }, () => undefined);
  const connection = await opened;
  t.teardown(() => connection.end());
  const query: postgres.PendingQuery<postgres.Row[]> = connection.sql`select 1 as one`;
  const rows = await query;
  for (const each of [query.constructor, rows.constructor]) {
    t.ok(Object.hasOwn(each, Symbol.species), `${each.name} has a computed static member`);
    t.ok(isFast(each));
  }
});
