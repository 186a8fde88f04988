import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Name } from './harness/contestant.js';
import { type Ground, onGround } from './harness/ground.js';
import { whyNotHold } from './harness/idle.js';
import { pickLoader } from './harness/load.js';
import { describeMachine, machineText } from './harness/machine.js';
import { measureRow } from './harness/measure.js';
import { HELP, LARGEST_MODEL, type Options, readOptions } from './harness/options.js';
import type { Row } from './harness/row.js';
import { openStage, type Stage } from './harness/stage.js';
import { chart } from './report/chart.js';
import { judge, type Result } from './report/judge.js';
import { modelText } from './report/model-text.js';
import { latest, type Report, read, regressions, save } from './report/results.js';
import { table } from './report/table.js';
import { growth } from './suites/growth.js';
import { measureModel } from './suites/model.js';
import { rowsOf } from './suites/rows.js';

/** The benchmark: `npm run bench -- --help`. */

const USERS = 100_000;
const MODEL = fileURLToPath(new URL('../../bench/results/model.json', import.meta.url));
const MODEL_ROUNDS = 3;
const CHART = fileURLToPath(new URL('../../docs/bench.svg', import.meta.url));

const log = (line: string) => void process.stderr.write(`${Math.round(process.uptime())} s: ${line}\n`);

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options === 'help') return void process.stdout.write(HELP);
  // The end of this process is the end of all that it started, in whatever way it comes.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
  const stage = await openStage(log);
  try {
    if (options.model !== undefined) await runModel(options.model, stage);
    else if (options.growth !== undefined) await runGrowth(options, options.growth, stage);
    else await runRows(options, stage);
  } finally {
    await stage.close();
  }
}

async function runRows(options: Options, stage: Stage): Promise<void> {
  const { kind, items, rounds, seconds } = options;
  const rows = chosen(options);
  const loader = pickLoader(options.load);
  const names = [
    ...new Set<Name>(['plinth', ...rows.flatMap((row) => row.entrants.map(({ name }) => name))]),
  ];
  const wanted = { names, size: { users: USERS, items }, ids: 'users' as const, rounds, seconds };
  const results = await onGround(stage, loader.load, wanted, (ground) => measureAll(rows, ground));

  const date = new Date().toISOString().slice(0, 10);
  const machine = describeMachine(stage);
  const report: Report = { kind, date, machine, load: loader.name, items, rounds, seconds, rows: results };
  process.stdout.write(`${machineText(machine)}${date}, ${kind} run, ${loader.name}: `);
  process.stdout.write(`${items} items, ${rounds} rounds of ${seconds} s\n\n${table(results)}\n`);
  compare(report, options);
  finish(report, options);
}

/** The rows that were requested, without the contestants that were not. */
function chosen({ kind, only, peers, items }: Options): Row[] {
  return rowsOf(items)
    .filter((row) => kind === 'full' || row.quick)
    .filter((row) => only === undefined || only.test(`${row.name} (${row.connections})`))
    .map((row) => ({
      ...row,
      entrants: row.entrants.filter(({ name }) => name === 'plinth' || name === 'scoped' || peers.has(name)),
    }));
}

async function measureAll(rows: readonly Row[], ground: Ground): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, row] of rows.entries()) {
    log(`${index + 1}/${rows.length} ${row.name}, ${row.connections} at a time`);
    results.push(await measured(row, ground));
  }
  return results;
}

/** A row that cannot be measured says why, and the others go on. */
async function measured(row: Row, ground: Ground): Promise<Result> {
  const { name, connections, base } = row;
  const without = (error: string) => ({ name, connections, base, entrants: [], verdicts: [], error });
  const skipped = row.kind === 'idle' ? whyNotHold(connections) : undefined;
  if (skipped !== undefined) return without(`skipped: ${skipped}`);
  try {
    return judge(row, await measureRow(row, ground));
  } catch (error) {
    process.exitCode = 1;
    return without(`failed: ${(error as Error).message}`);
  }
}

function compare(report: Report, { compare: file, whole }: Options): void {
  const before = file === undefined ? (whole ? latest(report.kind) : undefined) : read(file);
  if (!before) return;
  const differs = (['load', 'items', 'rounds', 'seconds'] as const).filter(
    (name) => before[name] !== report[name],
  );
  if (differs.length > 0) log(`the earlier run of ${before.date} had other settings: ${differs.join(', ')}`);
  const worse = regressions(before.rows, report.rows);
  process.stdout.write(
    worse.length === 0
      ? `No ratio is more than 5 % worse than on ${before.date}.\n`
      : `More than 5 % worse than on ${before.date}:\n${worse.map((line) => `  ${line}\n`).join('')}`,
  );
}

function finish(report: Report, { whole, chart: file }: Options): void {
  if (whole) log(`written to ${save(report)}`);
  const target = file ?? (whole && report.kind === 'full' ? CHART : undefined);
  if (target !== undefined) writeFileSync(target, chart(report));
}

async function runGrowth(options: Options, max: number, stage: Stage): Promise<void> {
  const { load } = pickLoader(options.load);
  const show = (text: string) => void process.stdout.write(text);
  show(machineText(describeMachine(stage)));
  await growth(stage, load, { ...options, max, log, show });
}

async function runModel(max: number, stage: Stage): Promise<void> {
  const machine = describeMachine(stage);
  const model = await measureModel(stage, { max, rounds: MODEL_ROUNDS, log });
  const date = new Date().toISOString().slice(0, 10);
  const json = JSON.stringify({ date, machine, ...model }, null, 1);
  process.stdout.write(`${machineText(machine)}${date}\n\n${modelText(model)}\n${json}\n`);
  // A smaller one is for tests of the measurement itself.
  if (max === LARGEST_MODEL) writeFileSync(MODEL, `${json}\n`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`bench: ${(error as Error).message}\n`);
  process.exitCode = 1;
});
