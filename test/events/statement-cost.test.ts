import { readStatements } from '../../src/db/statements.js';
import { type Plan, planOf } from '../support/list-statement.js';
import { testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const EVENTS = 40_000;
/** Maximum events that one statement examines. */
const EXAMINED = 5000;
/** The last event of which the bytes are known. */
const MEASURED = 20_000;

/** The events that each scan of a plan has read. */
const readBy = (nodes: readonly Plan[]): number[] =>
  nodes
    .filter((node) => node['Relation Name']?.startsWith('events_'))
    .map((node) => {
      const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      return node['Actual Loops']! * (node['Actual Rows']! + removed);
    });

const FIVE = 'bigint, bigint, bigint, bigint, bigint';
const NONE = "'{}', null";
const STATEMENTS: [title: string, name: string, types: string, args: string][] = [
  ['a page', 'read', FIVE, `10000, ${EVENTS}, 5000, 100, 1048576, null, ${NONE}`],
  ['rare types', 'read', FIVE, `100, ${EVENTS}, 5000, 100, 1048576, '{users.created}', ${NONE}`],
  ['bytes', 'measure', 'bigint, bigint', `${EVENTS}, 1000000000`],
  ['bytes that are all known', 'measure', 'bigint, bigint', `${MEASURED}, 1000000000`],
  ['expiry', 'expire', 'float8, bigint, bigint, bigint', `1000, 100000, ${EVENTS}, 0`],
  ['nothing to expire', 'expire', 'float8, bigint, bigint, bigint', `1000000, 100000, ${EVENTS}, 0`],
  ['a segment that is full', 'change_segment', 'float8, bigint, bigint', '1, 10, 1000000'],
  ['events that webhooks did not receive', 'drop', 'bigint, text, bigint', `${EVENTS}, null, 0`],
];

t.test('no statement reads more events than it examines', async (t) => {
  const sql = sqlOf(t, await testDatabase(t));
  await sql.unsafe(`
    insert into events (segment, record, version, type, data, time)
    select 1 + n / 15000, gen_random_uuid(), 1, 'items.created', '{}', now() - interval '2000 seconds'
    from generate_series(1, ${EVENTS}) as n;
    insert into event_bytes values (${MEASURED}, 1000);
    update events_floor set floor = 100`);
  await sql`analyze events`;
  // As the service has it.
  await sql`set plan_cache_mode = force_generic_plan`;
  await sql`set enable_seqscan = off`;
  await sql`set max_parallel_workers_per_gather = 0`;
  for (const [title, name, types, args] of STATEMENTS) {
    await sql.unsafe(`prepare statement (${types}) as ${readStatements('events.sql').get(name)}`);
    await sql`begin`;
    const statement = { text: `execute statement (${args})`, args: [] };
    const read = readBy(await planOf(sql, statement, 'analyze, timing off, format json'));
    await sql`rollback`;
    // A scan of a segment is one row ahead.
    t.ok(read.length > 0 && Math.max(...read) <= EXAMINED + 1, `${title}: reads ${read.join(', ')}`);
    await sql`deallocate statement`;
  }
});
