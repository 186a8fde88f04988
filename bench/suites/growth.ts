import type { Ground } from '../harness/ground.js';
import { onGround } from '../harness/ground.js';
import type { Loader } from '../harness/loader.js';
import { measureOnce, warm } from '../harness/measure.js';
import type { Stage } from '../harness/stage.js';
import { type Figures, medians, shortened } from '../harness/stats.js';
import { growthRows } from './rows.js';

const SMALLEST = 10_000;
const USERS = 100_000;

/** One step of the curve: how many items, and the service that has them. */
interface Step {
  readonly items: number;
  readonly ground: Ground;
}

/** The measurements, and how they are reported. */
interface Wanted {
  readonly max: number;
  readonly only: RegExp | undefined;
  readonly rounds: number;
  readonly seconds: number;
  /** Progress. */
  readonly log: (line: string) => void;
  /** The table, row after row. */
  readonly show: (text: string) => void;
}

/**
 * The cost of a request to Plinth by the number of items, ten times as many at each step. All sizes are there at once and
 * measured by turns, since the speed of a shared machine changes by more than the effect that is measured.
 */
export async function growth(stage: Stage, load: Loader, wanted: Wanted): Promise<void> {
  const { max, rounds, seconds, log } = wanted;
  const open = (steps: readonly Step[], items: number): Promise<void> => {
    if (items > max) return measure(steps, wanted);
    log(`${items} items`);
    const own = { names: ['plinth' as const], size: { users: USERS, items }, ids: 'items' as const };
    return onGround(stage, load, { ...own, rounds, seconds }, (ground) =>
      open([...steps, { items, ground }], items * 10),
    );
  };
  await open([], SMALLEST);
}

async function measure(steps: readonly Step[], { only, log, show }: Wanted): Promise<void> {
  show(HEADING);
  for (const at of growthRows(SMALLEST).keys()) {
    const own = steps.map((step) => ({ ...step, row: growthRows(step.items)[at]!, rounds: [] as Figures[] }));
    const name = `${own[0]!.row.name} (${own[0]!.row.connections})`;
    if (only && !only.test(name)) continue;
    log(name);
    for (const { row, ground } of own) await warm(row, ground);
    for (let round = 0; round < own[0]!.ground.rounds; round++)
      for (const { row, ground, rounds } of own)
        rounds.push(await measureOnce(row, row.entrants[0]!, ground, ground.seconds));
    show(growthTable(name, new Map(own.map(({ items, rounds }) => [items, shortened(medians(rounds))]))));
  }
}

const HEADING = `${'row'.padEnd(28)}${'items'.padStart(10)}${'req/s'.padStart(10)}${'x'.padStart(8)}${'cpu us'.padStart(10)}${'x'.padStart(8)}\n`;

/**
 * A row by the number of items: requests a second, and CPU time of node and PostgreSQL together, each also as a multiple
 * of the first size's.
 */
export function growthTable(name: string, curve: ReadonlyMap<number, Figures>): string {
  const first = curve.values().next().value ?? {};
  const lines = [...curve].map(([size, figures], at) => {
    const cells = [
      (at === 0 ? name : '').padEnd(28),
      String(size).padStart(10),
      (figures.rate ?? 0).toFixed(0).padStart(10),
      times(figures.rate, first.rate),
      (cpuOf(figures) ?? 0).toFixed(0).padStart(10),
      times(cpuOf(figures), cpuOf(first)),
    ];
    return `${cells.join('')}\n`;
  });
  return lines.join('');
}

function cpuOf({ nodeUs, pgUs }: Figures): number | undefined {
  return nodeUs === undefined || pgUs === undefined ? undefined : nodeUs + pgUs;
}

function times(value: number | undefined, first: number | undefined): string {
  return (value === undefined || !first ? '' : (value / first).toFixed(2)).padStart(8);
}
