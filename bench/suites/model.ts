import { setTimeout as sleep } from 'node:timers/promises';
import { cpuOfFamily } from '../harness/proc.js';
import type { Stage } from '../harness/stage.js';
import { type Model, SHARED } from '../model/constants.js';
import { fitCost, fitSharing, type Observation, SMALLEST } from '../model/fit.js';
import { OPERATIONS, type Operation } from '../model/operations.js';
import {
  type Idle,
  medianOf,
  openSite,
  type Run,
  type Site,
  type Spent,
  spend,
  type Wanted,
} from '../model/site.js';
import { bytesOf, eventBytes, memoryOfSites } from '../model/sizes.js';
import { validate } from '../model/validation.js';

const CONNECTIONS = [1, 4, 16, 64, 256];
const IDLE_SECONDS = 6;

/**
 * Measures the constants of the capacity model (docs/capacity.md), and what it predicts of a table, mixes and processes
 * that it is not fitted to. All tables exist at once and are measured in turn, since what a shared machine does changes by
 * more than what is looked for.
 */
export async function measureModel(stage: Stage, wanted: Wanted): Promise<Model> {
  const { max, log } = wanted;
  const sizes: number[] = [];
  for (let rows = SMALLEST; rows <= max; rows *= 10) sizes.push(rows);
  const other = Math.round(max * 0.3);
  const sites: Site[] = [];
  try {
    for (const rows of [...sizes, other]) sites.push(await openSite(stage, rows));
    log('without requests');
    const run = { ...wanted, stage, idle: await idleOf(stage, sites[0]!) };
    const bytes = await bytesOf(sites);
    const measured = await measureOperations(run, sites);
    const costs = fitAll(measured, sizes);
    const middle = sites[1]!;
    const sharing = await measureSharing(run, middle);
    const event = await eventBytes(sites.at(-1)!);
    const memory = await memoryOfSites(sites[sizes.length - 1]!, middle);
    const validation = await validate(run, sites.at(-1)!, middle, { costs, sharing, measured });
    return {
      sizes,
      idle: run.idle,
      costs,
      sharing,
      bytes: { ...bytes, ...memory, event },
      measured,
      validation,
    };
  } finally {
    for (const site of sites) await site.close();
  }
}

/** CPU time that passes without requests: of one service, and of PostgreSQL for all of them. */
async function idleOf(stage: Stage, { service }: Site): Promise<Idle> {
  await stage.calm();
  const before = [cpuOfFamily(service.pid)!, cpuOfFamily(stage.pid)!] as const;
  await sleep(IDLE_SECONDS * 1000);
  const after = [cpuOfFamily(service.pid)!, cpuOfFamily(stage.pid)!] as const;
  return { node: (after[0] - before[0]) / IDLE_SECONDS, pg: (after[1] - before[1]) / IDLE_SECONDS };
}

type Measured = Record<string, Record<number, Spent>>;

async function measureOperations(run: Run, sites: readonly Site[]): Promise<Measured> {
  const measured: Measured = {};
  for (const operation of OPERATIONS) {
    run.log(operation.name);
    measured[operation.name] = await measureOperation(run, operation, sites);
  }
  return measured;
}

/** One operation at all sizes in turn, after a round that warms up. */
async function measureOperation(
  { stage, idle, rounds, log }: Run,
  operation: Operation,
  sites: readonly Site[],
): Promise<Record<number, Spent>> {
  const { connections, writes } = operation;
  const results = new Map<Site, Spent[]>(sites.map((site) => [site, []]));
  // From a checkpoint on, so that the images of the pages that are written first are in the figures of all sizes.
  if (writes) await sites[0]!.sql`checkpoint`;
  for (let round = 0; round <= rounds; round++)
    for (const site of sites) {
      const spent = await spend(stage, site, operation, connections, idle);
      if (round > 0) results.get(site)!.push(spent);
    }
  const medians = sites.map((site) => [site.table.rows, medianOf(results.get(site)!)] as const);
  for (const [rows, spent] of medians) log(`  ${rows} rows: ${JSON.stringify(spent)}`);
  return Object.fromEntries(medians);
}

/** The constants of each operation, fitted to all points of its family. */
function fitAll(measured: Measured, sizes: readonly number[]): Model['costs'] {
  const pointsOf = (family: string, process: 'nodeUs' | 'pgUs'): Observation[] =>
    OPERATIONS.filter((each) => each.family === family).flatMap(({ name, touched }) =>
      sizes.map((rows) => ({ rows, touched: touched(rows), us: measured[name]![rows]![process] })),
    );
  return Object.fromEntries(
    OPERATIONS.map(({ name, family }) => [
      name,
      { node: fitCost(pointsOf(family, 'nodeUs')), pg: fitCost(pointsOf(family, 'pgUs')) },
    ]),
  );
}

async function measureSharing({ stage, idle, rounds, log }: Run, site: Site): Promise<Model['sharing']> {
  const sharing: Record<string, Model['sharing'][string]> = {};
  for (const operation of OPERATIONS.filter(({ name }) => SHARED.includes(name))) {
    log(`${operation.name}, by connections`);
    const points: { connections: number; nodeUs: number; pgUs: number }[] = [];
    for (const connections of CONNECTIONS) {
      const results: Spent[] = [];
      const part = connections < 16 ? 0.25 : 1;
      for (let round = 0; round <= rounds; round++) {
        const spent = await spend(stage, site, operation, connections, idle, part);
        if (round > 0) results.push(spent);
      }
      points.push({ connections, ...medianOf(results) });
      log(`  ${JSON.stringify(points.at(-1))}`);
    }
    sharing[operation.name] = {
      node: fitSharing(points.map(({ connections, nodeUs }) => ({ connections, us: nodeUs }))),
      pg: fitSharing(points.map(({ connections, pgUs }) => ({ connections, us: pgUs }))),
    };
  }
  return sharing;
}
