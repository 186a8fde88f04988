import type { Figures } from '../harness/stats.js';
import { type Result, ratioOf } from './judge.js';

const HEADINGS = ['row', 'contestant', 'req/s', 'ratio', 'p50 ms', 'p99 ms', 'node us', 'pg us', 'target'];
/** Columns that hold words; the others hold figures, set to the right. */
const WORDS = new Set([0, 1, 8]);

/** All results as a table for a terminal. */
export function table(results: readonly Result[]): string {
  const lines = results.flatMap(linesOf);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...lines.map((cells) => (cells[column] ?? '').length)),
  );
  const render = (cells: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? '';
        return WORDS.has(column) ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width));
  return `${[HEADINGS, rule, ...lines].map(render).join('\n')}\n`;
}

/** A line for each contestant and, when there are more targets than those, for each target. */
function linesOf(result: Result): string[][] {
  const title = `${result.name} (${result.connections})`;
  if (result.error !== undefined) return [[title, '', '', '', '', '', '', '', result.error]];
  const verdicts = result.verdicts.map(
    ({ text, value, met }) => `${met ? 'ok    ' : 'MISSED'} ${value} (${text})`,
  );
  const notes = result.entrants.flatMap(({ label, median }) => noteOf(label, median));
  const texts = [...verdicts, ...notes];
  const count = Math.max(result.entrants.length, texts.length);
  return Array.from({ length: count }, (_, index) => [
    index === 0 ? title : '',
    ...cellsOf(result, index),
    texts[index] ?? '',
  ]);
}

function cellsOf(result: Result, index: number): string[] {
  const entrant = result.entrants[index];
  if (!entrant) return HEADINGS.slice(1, -1).map(() => '');
  const { label, median } = entrant;
  const ratio = ratioOf(result, label);
  const { rate, p50, p99, nodeUs, pgUs } = median;
  return [label, ...[rate, ratio, p50, p99, nodeUs, pgUs].map(figure)];
}

function noteOf(label: string, { mbPerSecond, firstByteMs, aboveIdleMb, idleKb }: Figures): string[] {
  const parts = [
    mbPerSecond === undefined ? '' : `${figure(mbPerSecond)} MB/s`,
    firstByteMs === undefined ? '' : `first byte ${figure(firstByteMs)} ms`,
    aboveIdleMb === undefined ? '' : `${figure(aboveIdleMb)} MB above idle`,
    idleKb === undefined ? '' : `${figure(idleKb)} KB a connection`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? [] : [`${label}: ${parts.join(', ')}`];
}

function figure(value: number | undefined): string {
  if (value === undefined) return '';
  return value >= 100 ? String(Math.round(value)) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
