import type { FixedRequest } from '../harness/fixed-load.js';
import { type Comparison, type Model, operationOf, predict, predictMix, SHARED } from './constants.js';
import { type Mix, OPERATIONS, READ_MOSTLY, type Table, WRITE_MOSTLY } from './operations.js';
import { joinSite, medianOf, type Run, type Site, type Spent, spend } from './site.js';

const MIX_REQUESTS = 8000;
const CONNECTIONS = 64;
const WORKERS = 2;
/** Rounds in which V8 compiles what each process runs. */
const WARMING = 4;

type Fitted = Pick<Model, 'costs' | 'sharing' | 'measured'>;

/** Predictions next to measurements: another number of rows, operations side by side, and several processes. */
export async function validate(run: Run, other: Site, shared: Site, fitted: Fitted): Promise<Comparison[]> {
  const { rows } = other.table;
  const single = OPERATIONS.map(({ name }) => ({
    what: name,
    predicted: predict(fitted, name, rows),
    measured: fitted.measured[name]![rows]!,
  }));
  const mixes: Comparison[] = [];
  for (const [what, mix] of Object.entries({ 'mostly reads': READ_MOSTLY, 'mostly writes': WRITE_MOSTLY })) {
    run.log(`${what}, ${rows} rows`);
    // Work that the measured writes left behind is no cost of the mix.
    await run.stage.settle(other.databaseUrl);
    const next = (table: Table) => draw(mix, table);
    const measured = await repeated(run, other, next);
    mixes.push({ what: `mix, ${what}`, predicted: predictMix(fitted, mix, rows, CONNECTIONS), measured });
  }
  return [...single, ...mixes, ...(await withWorkers(run, shared, fitted))];
}

/** A request of a mix, by their parts. Without a record that was created, one is created instead of deleted. */
function draw(mix: Mix, table: Table): FixedRequest {
  let at = Math.random();
  let name = '';
  for (const [each, part] of Object.entries(mix)) {
    name = each;
    at -= part;
    if (at < 0) break;
  }
  return operationOf(name === 'delete' && table.created.length === 0 ? 'create' : name).next(table);
}

async function repeated(
  { stage, idle, rounds }: Run,
  site: Site,
  next: (table: Table) => FixedRequest,
): Promise<Spent> {
  const results: Spent[] = [];
  const operation = { next, count: () => MIX_REQUESTS };
  for (let round = 1 - WARMING; round <= rounds; round++) {
    const spent = await spend(stage, site, operation, CONNECTIONS, idle);
    if (round > 0) results.push(spent);
  }
  return medianOf(results);
}

/** Processes share no statement: each has a part of the connections. */
async function withWorkers(run: Run, { databaseUrl, table }: Site, fitted: Fitted): Promise<Comparison[]> {
  const site = await joinSite(databaseUrl, table.rows, { WORKERS: String(WORKERS) });
  const comparisons: Comparison[] = [];
  try {
    for (const name of SHARED) {
      run.log(`${name}, ${WORKERS} processes`);
      comparisons.push({
        what: `${name}, ${WORKERS} processes, ${table.rows} rows`,
        predicted: predict(fitted, name, table.rows, CONNECTIONS / WORKERS),
        measured: await repeated(run, site, operationOf(name).next),
      });
    }
  } finally {
    await site.close();
  }
  return comparisons;
}
