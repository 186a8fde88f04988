import { fill, readStatements } from '../../../src/db/statements.js';
import { testDatabase } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';

const DELIVERIES = 5000;
const IN_FLIGHT = 10;
const OWNER = '01900000-0000-7000-8000-000000000001';
const WEBHOOK = '01900000-0000-7000-8000-000000000002';

interface Plan {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** The deliveries that a plan has read. */
const readBy = (plan: Plan): number =>
  nodesOf(plan)
    .filter((node) => node['Relation Name']?.startsWith('deliver'))
    .reduce(
      (sum, node) =>
        sum + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
      0,
    );

const result = (id: number) => ({ id, tries: 1, outcome: 'delivered', delay: 0, disable: false });
const event = (n: number) => ({
  id: `new-${n}`,
  type: 'items.created',
  recordKey: `items/${n}`,
  body: '{}',
});
const text = (values: unknown[]) => `'${JSON.stringify(values)}'`;
const numbers = Array.from({ length: IN_FLIGHT }, (_, n) => n + 1);
const STATEMENTS: [name: string, types: string, args: string][] = [
  ['change_segment', 'float8', '0'],
  ['claim', 'uuid, float8, bigint, bigint', `'${OWNER}', 30, ${IN_FLIGHT}, ${IN_FLIGHT}`],
  ['finish', 'uuid, text', `'${OWNER}', ${text(numbers.map(result))}`],
  [
    'insert_deliveries',
    'text, text',
    `${text(numbers.map(event))}, ${text(numbers.map((n) => ({ webhook: WEBHOOK, event: n - 1 })))}`,
  ],
];

t.test('the cost of deliveries does not depend on how many wait, or have ended', async (t) => {
  const sql = sqlOf(t, await testDatabase(t));
  // As the service has it: statements are planned once, here before there are deliveries.
  await sql`set plan_cache_mode = force_generic_plan`;
  await sql`set enable_seqscan = off`;
  await sql`set max_parallel_workers_per_gather = 0`;
  await sql`set jit = off`;
  for (const [name, types, args] of STATEMENTS) {
    const statement = fill(readStatements('features/webhooks/webhooks.sql').get(name)!, {});
    await sql.unsafe(`prepare ${name} (${types}) as ${statement}`);
    await sql`begin`;
    await sql.unsafe(`explain execute ${name} (${args})`);
    await sql`rollback`;
  }
  await sql.unsafe(`
    insert into webhooks (id, url, types, description, enabled, secret)
    values ('${WEBHOOK}', 'https://example.org', '{*}', '', true, '');
    insert into delivery_bodies (event_id, body) select n::text, '{}' from generate_series(1, ${DELIVERIES}) as n;
    insert into deliveries (segment, webhook_id, event_id, type, record_key, status, ended_at, owner, tries, next_at)
    select 1 + n % 2, '${WEBHOOK}', n, 'items.created', 'items/' || n,
      case when n % 2 = 0 then 'delivered' else 'pending' end, case when n % 2 = 0 then now() end,
      case when n <= 5 and n % 2 = 1 then '${OWNER}'::uuid end, 1,
      case when n % 2 = 1 then now() - interval '1 minute' end
    from generate_series(1, ${DELIVERIES}) as n`);
  for (const [name, , args] of STATEMENTS) {
    await sql`begin`;
    const [row] = await sql.unsafe(`explain (analyze, timing off, format json) execute ${name} (${args})`);
    await sql`rollback`;
    const read = readBy((row!['QUERY PLAN'] as { Plan: Plan }[])[0]!.Plan);
    t.ok(read > 0 && read <= 12 * IN_FLIGHT, `${name} reads ${read}`);
  }
});
