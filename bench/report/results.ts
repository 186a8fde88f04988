import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Machine } from '../harness/machine.js';
import { type Result, ratioOf } from './judge.js';

/** All that a run found. */
export interface Report {
  readonly kind: 'full' | 'quick';
  readonly date: string;
  readonly machine: Machine;
  readonly load: string;
  readonly items: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: readonly Result[];
}

const FOLDER = fileURLToPath(new URL('../../../bench/results/', import.meta.url));

/** Writes a report to bench/results, and a full one as the latest too; gives the file's name. */
export function save(report: Report): string {
  mkdirSync(FOLDER, { recursive: true });
  // One line a row: short, and still something to look at and to compare.
  const { rows, ...head } = report;
  const text = `${JSON.stringify(head, null, 1).slice(0, -2)},\n "rows": [\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]}\n`;
  const name = `${report.date}-${report.kind}.json`;
  for (const file of report.kind === 'full' ? [name, 'latest.json'] : [name])
    writeFileSync(`${FOLDER}${file}`, text);
  return `bench/results/${name}`;
}

/** Reads a report. */
export const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Report;

/** The newest report of one kind; undefined when there is none. */
export function latest(kind: Report['kind']): Report | undefined {
  mkdirSync(FOLDER, { recursive: true });
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(`-${kind}.json`));
  const name = names.sort().at(-1);
  return name === undefined ? undefined : read(`${FOLDER}${name}`);
}

/** A part by which a ratio may fall without being reported. */
const TOLERANCE = 0.05;

/** The rows that have become slower, compared with their base, since an earlier run: a line each. */
export function regressions(before: readonly Result[], after: readonly Result[]): string[] {
  return after.flatMap((row) => {
    const then = before.find(({ name, connections }) => name === row.name && connections === row.connections);
    const [was, is] = [then && ratioOf(then, 'plinth'), ratioOf(row, 'plinth')];
    if (was === undefined || is === undefined) return [];
    // Of memory more is worse, of a rate less.
    const change = row.entrants[0]?.median.rate === undefined ? was / is - 1 : is / was - 1;
    if (change >= -TOLERANCE) return [];
    const percent = Math.round(-change * 100);
    return `${row.name} (${row.connections}): ${was.toFixed(2)} -> ${is.toFixed(2)} x ${row.base}, ${percent} % worse`;
  });
}
