import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ListStatement, Statements } from '../../src/collection/sql-templates.js';
import { migrate } from '../../src/db/migrate.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { items } from '../../test/support/collections.js';
import { openSql } from '../../test/support/sql.js';
import { fill } from '../harness/data.js';
import { addUp } from '../harness/stage.js';

/** Prints how PostgreSQL runs the list statements over many items: `node dist/bench/suites/plans.js [rows]`. */
const rows = Number(process.argv[2] ?? 1_000_000);
const [DEFAULT, BY_PRICE] = [
  { form: 'page', sort: 'created_at', order: 'desc' },
  { form: 'page', sort: 'price', order: 'desc' },
] as const;
const STATEMENTS: [title: string, statement: ListStatement, args: string][] = [
  ['first page', { ...DEFAULT, kind: 'all' }, '20, 0'],
  ['page in the middle', { ...DEFAULT, kind: 'counted' }, `20, ${rows / 2}`],
  ['last page', { ...DEFAULT, kind: 'counted' }, `20, ${rows - 20}`],
  ['page in the middle by price', { ...BY_PRICE, kind: 'deep' }, `20, ${rows / 2}`],
  ['search, rare word', { ...DEFAULT, kind: 'matching' }, `20, 0, '%zirconium%'`],
  ['search, common word', { ...DEFAULT, kind: 'matching' }, `20, 0, '%lamp%'`],
  ['search, one character', { ...DEFAULT, kind: 'matching_short' }, `20, 0, 'z'`],
  ['search, two characters', { ...DEFAULT, kind: 'matching_short' }, `20, 0, 'la'`],
];

/** Lines that say nothing about how the rows are found. */
const DETAIL = /^\s*(?:Heap Fetches|Index Searches|Storage|Sort Method|Heap Blocks):/;

const dataDir = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const embedded = await startEmbedded({
  dataDir,
  settings: ['fsync=off', 'max_wal_size=8GB', 'maintenance_work_mem=512MB'],
});
try {
  await migrate(embedded.url, 10_000);
  await fill(embedded.url, 0, rows);
  await addUp(embedded.url);
  await print(embedded.url);
} finally {
  await embedded.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function print(url: string): Promise<void> {
  // As in the service: one plan for short statements, one per term for searches.
  const sql = openSql(url, { max: 1, onnotice: () => undefined, connection: { jit: 'off' } });
  const statements = new Statements(items, false);
  for (const [title, wanted, args] of STATEMENTS) {
    const isShort = !wanted.kind.startsWith('matching');
    await sql.unsafe(`set plan_cache_mode = ${isShort ? 'force_generic_plan' : 'force_custom_plan'}`);
    await sql.unsafe(`set enable_seqscan = ${isShort ? 'off' : 'on'}`);
    await sql.unsafe(`prepare plan as ${statements.list(wanted)}`);
    const plan = await sql.unsafe(
      `explain (analyze, costs off, timing off, summary off, buffers off) execute plan (${args})`,
    );
    await sql.unsafe('deallocate plan');
    const lines = plan.map((row) => row['QUERY PLAN'] as string).filter((line) => !DETAIL.test(line));
    process.stdout.write(`\n### ${title}\n\n\`\`\`\n${lines.join('\n')}\n\`\`\`\n`);
  }
  await sql.end();
}
