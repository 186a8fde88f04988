import { onGround } from './ground.js';
import type { Loader } from './load.js';
import { type Ground, measureOnce, warm } from './measure.js';
import { growthRows } from './rows.js';
import type { Stage } from './stage.js';
import { type Figures, medians, shortened } from './stats.js';

const SMALLEST = 10_000;
const USERS = 100_000;

/** One step of the curve: how many items, and the service that has them. */
interface Step {
  readonly items: number;
  readonly ground: Ground;
}

/**
 * What a request costs Plinth by the number of items, ten times as many at each step; as a table. All sizes are there
 * at once and measured by turns, since what a shared machine does changes by more than what is looked for.
 */
export async function growth(
  stage: Stage,
  load: Loader,
  most: number,
  { rounds, seconds }: { rounds: number; seconds: number },
  tell: (line: string) => void,
): Promise<string> {
  const open = (steps: readonly Step[], items: number): Promise<string> => {
    if (items > most) return measure(steps, tell);
    tell(`${items} items`);
    const wanted = { names: ['plinth' as const], size: { users: USERS, items }, ids: 'items' as const };
    return onGround(stage, load, { ...wanted, rounds, seconds }, (ground) =>
      open([...steps, { items, ground }], items * 10),
    );
  };
  return open([], SMALLEST);
}

async function measure(steps: readonly Step[], tell: (line: string) => void): Promise<string> {
  const curve = new Map(steps.map(({ items }) => [items, new Map<string, Figures>()]));
  for (const at of growthRows(SMALLEST).keys()) {
    const own = steps.map((step) => ({ ...step, row: growthRows(step.items)[at]!, rounds: [] as Figures[] }));
    const name = `${own[0]!.row.name} (${own[0]!.row.connections})`;
    tell(name);
    for (const { row, ground } of own) await warm(row, ground);
    for (let round = 0; round < own[0]!.ground.rounds; round++)
      for (const { row, ground, rounds } of own)
        rounds.push(await measureOnce(row, row.entrants[0]!, ground, ground.seconds));
    for (const { items, rounds } of own) curve.get(items)!.set(name, shortened(medians(rounds)));
  }
  return growthTable(curve);
}

/** Requests a second, and CPU time of node and PostgreSQL together, each also as a multiple of the first size's. */
export function growthTable(curve: ReadonlyMap<number, ReadonlyMap<string, Figures>>): string {
  const sizes = [...curve.keys()];
  const first = curve.get(sizes[0]!)!;
  const heading = `${'row'.padEnd(28)}${'items'.padStart(10)}${'req/s'.padStart(10)}${'x'.padStart(8)}${'cpu us'.padStart(10)}${'x'.padStart(8)}`;
  const lines = [...first.keys()].flatMap((name) =>
    sizes.map((size) => {
      const figures = curve.get(size)!.get(name)!;
      const cells = [
        size === sizes[0] ? name.padEnd(28) : ' '.repeat(28),
        String(size).padStart(10),
        (figures.rate ?? 0).toFixed(0).padStart(10),
        times(figures.rate, first.get(name)!.rate),
        (cpuOf(figures) ?? 0).toFixed(0).padStart(10),
        times(cpuOf(figures), cpuOf(first.get(name)!)),
      ];
      return cells.join('');
    }),
  );
  return `${[heading, ...lines].join('\n')}\n`;
}

function cpuOf({ nodeUs, pgUs }: Figures): number | undefined {
  return nodeUs === undefined || pgUs === undefined ? undefined : nodeUs + pgUs;
}

function times(value: number | undefined, first: number | undefined): string {
  return (value === undefined || !first ? '' : (value / first).toFixed(2)).padStart(8);
}
