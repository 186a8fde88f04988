import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/db/migrate.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { items } from '../../test/support/collections.js';
import { pageStatement } from '../../test/support/list-statement.js';
import { openSql } from '../../test/support/sql.js';
import { fill } from '../harness/data.js';
import { addUp } from '../harness/stage.js';

/** Prints how PostgreSQL runs the list statements over many items: `node dist/bench/suites/plans.js [rows]`. */
const rows = Number(process.argv[2] ?? 1_000_000);
const PAGES: [title: string, query: string][] = [
  ['first page', 'page=1'],
  ['page in the middle', `page=${rows / 40}`],
  ['last page', `page=${rows / 20}`],
  ['page in the middle by price', `page=${rows / 40}&sort=price`],
  ['search, rare word', 'page=1&search=zirconium'],
  ['search, common word', 'page=1&search=lamp'],
  ['search, one character', 'page=1&search=z'],
  ['search, two characters', 'page=1&search=la'],
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
  for (const [title, query] of PAGES) {
    const { text, args, cost } = pageStatement(items, query);
    const isShort = cost === 'short';
    await sql.unsafe(`set plan_cache_mode = ${isShort ? 'force_generic_plan' : 'force_custom_plan'}`);
    await sql.unsafe(`set enable_seqscan = ${isShort ? 'off' : 'on'}`);
    await sql.unsafe(`prepare plan as ${text}`);
    const plan = await sql.unsafe(
      `explain (analyze, costs off, timing off, summary off, buffers off) execute plan (${args.map((each) => (typeof each === 'string' ? `'${each}'` : String(each))).join(', ')})`,
    );
    await sql.unsafe('deallocate plan');
    const lines = plan.map((row) => row['QUERY PLAN'] as string).filter((line) => !DETAIL.test(line));
    process.stdout.write(`\n### ${title}\n\n\`\`\`\n${lines.join('\n')}\n\`\`\`\n`);
  }
  await sql.end();
}
