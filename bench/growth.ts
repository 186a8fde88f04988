import { onGround } from './ground.js';
import type { Loader } from './load.js';
import { type Ground, measureRow } from './measure.js';
import { growthRows } from './rows.js';
import type { Stage } from './stage.js';
import type { Figures } from './stats.js';

const SMALLEST = 10_000;
const USERS = 100_000;

/** What a request costs Plinth by the number of items, ten times as many at each step; as a table. */
export async function growth(
  stage: Stage,
  load: Loader,
  most: number,
  { rounds, seconds }: { rounds: number; seconds: number },
  tell: (line: string) => void,
): Promise<string> {
  const curve = new Map<number, ReadonlyMap<string, Figures>>();
  for (let items = SMALLEST; items <= most; items *= 10) {
    tell(`${items} items`);
    const wanted = { names: ['plinth' as const], size: { users: USERS, items }, ids: 'items' as const };
    const figures = await onGround(stage, load, { ...wanted, rounds, seconds }, (ground) =>
      measureSize(items, ground),
    );
    curve.set(items, figures);
  }
  return growthTable(curve);
}

async function measureSize(items: number, ground: Ground): Promise<ReadonlyMap<string, Figures>> {
  const figures = new Map<string, Figures>();
  for (const row of growthRows(items)) {
    const [plinth] = await measureRow(row, ground);
    figures.set(`${row.name} (${row.connections})`, plinth!.median);
  }
  return figures;
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
