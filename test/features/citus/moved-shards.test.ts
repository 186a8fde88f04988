import { stopwatch } from '../../support/pause.js';
import { testService } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';

const WRITERS = 32;

interface Written {
  /** The version of the last confirmed write. */
  version: number;
  /** Whether a later write may have taken place: it had no response of success. */
  isUncertain: boolean;
}

t.test('shards move under writers: no record, version or event is lost', async (t) => {
  const { send, databaseUrl } = await testService(t);
  const sql = sqlOf(t, databaseUrl);
  const records = new Map<string, Written>();
  const refused: number[] = [];
  let isMoved = false;
  let sinceLast = stopwatch();
  let longestMs = 0;
  let slowestMs = 0;
  const confirm = (elapsed: () => number) => {
    longestMs = Math.max(longestMs, sinceLast());
    sinceLast = stopwatch();
    slowestMs = Math.max(slowestMs, elapsed());
  };

  async function write(writer: number): Promise<void> {
    for (let n = 0; !isMoved; n++) {
      const since = stopwatch();
      const created = await send('POST', '/items', { body: { name: `item ${writer} ${n}` } });
      if (created.status !== 201) {
        refused.push(created.status);
        continue;
      }
      confirm(since);
      const record: Written = { version: 1, isUncertain: false };
      records.set(created.json.id, record);
      const patchedSince = stopwatch();
      const patched = await send('PATCH', `/items/${created.json.id}`, { body: { price: n } });
      if (patched.status === 200) {
        record.version = 2;
        confirm(patchedSince);
      } else {
        record.isUncertain = true;
        refused.push(patched.status);
      }
    }
  }

  async function move(): Promise<void> {
    const shards = await sql`
      select shardid, nodename, nodeport from citus_shards
      where table_name = 'items'::regclass order by shardid`;
    const [from] = shards;
    const target = shards.find(({ nodeport }) => nodeport !== from!.nodeport);
    const leaving = shards.filter(({ nodeport }) => nodeport === from!.nodeport).slice(0, 3);
    for (const { shardid, nodename, nodeport } of leaving)
      await sql`select citus_move_shard_placement(${shardid}, ${nodename}, ${nodeport}::integer,
        ${target!.nodename}, ${target!.nodeport}::integer, 'force_logical')`;
    const left = () =>
      sql`select from citus_shards where table_name = 'items'::regclass and nodeport = ${from!.nodeport}`;
    const before = (await left()).length;
    await sql`select citus_rebalance_start(shard_transfer_mode => 'force_logical')`;
    await sql`select citus_rebalance_wait()`;
    t.ok((await left()).length > before, 'shards have moved back');
  }

  const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer));
  await move().finally(() => {
    isMoved = true;
  });
  await Promise.all(writers);
  t.comment(
    `${records.size} records, ${refused.length} refused writes (${[...new Set(refused)]}), longest pause of all ${Math.round(longestMs)} ms, slowest write ${Math.round(slowestMs)} ms`,
  );

  const events =
    await sql`select record, count(*)::integer as events, max(version) as version from events group by record`;
  const noted = new Map(events.map(({ record, ...rest }) => [record as string, rest]));
  const wrong: string[] = [];
  for (const [id, { version, isUncertain }] of records) {
    const { status, json } = await send('GET', `/items/${id}`);
    const found = noted.get(id);
    const isRight =
      status === 200 && (json._version === version || (isUncertain && json._version === version + 1));
    if (!isRight || found?.events !== json._version || found?.version !== json._version)
      wrong.push(`${id}: ${status}, version ${json?._version} of ${version}, events ${found?.events}`);
  }
  t.same(wrong, []);
  const { json: page } = await send('GET', '/items?page=1');
  const [stored] = await sql`select count(*)::integer as records from items`;
  t.equal(page.meta.total, stored!.records, 'the total is that of the shards');
});
