import { type Cpu, type Model, need, predict } from '../model/constants.js';
import type { Cost, Sharing } from '../model/fit.js';
import { OPERATIONS, READ_MOSTLY } from '../model/operations.js';
import type { Spent } from '../model/site.js';

/** Rows for which the model is evaluated, beyond those that were measured. */
const ON_PAPER = [10_000, 1_000_000, 10_000_000, 1_000_000_000];
const RATES = [1000, 10_000];

/** The model as tables: its constants, what it predicts, and its validation. */
export function modelText(model: Model): string {
  return [
    constants(model),
    measured(model),
    bytes(model),
    onPaper(model),
    needs(model),
    validation(model),
  ].join('\n');
}

const cell = (value: number | string, width = 12) =>
  (typeof value === 'string' ? value : figure(value)).padStart(width);
const name = (text: string) => text.padEnd(34);
const figure = (value: number) =>
  value === 0
    ? '0'
    : Math.abs(value) < 1
      ? value.toPrecision(2)
      : value.toFixed(Math.abs(value) < 10 ? 1 : 0);

function constants({ costs, sharing, idle }: Model): string {
  const line = (operation: string, process: string, { base, perDoubling, perRow }: Cost) =>
    `${name(operation)}${process.padEnd(6)}${cell(base)}${cell(perDoubling)}${cell(perRow)}\n`;
  const shared = (operation: string, process: string, { shared, alone }: Sharing) =>
    `${name(operation)}${process.padEnd(6)}${cell(shared)}${cell(alone)}\n`;
  return [
    `CPU microseconds = base + per doubling * log2(rows / 10,000) + per row * rows touched\n${name('')}      ${cell('base')}${cell('doubling')}${cell('row')}\n`,
    ...Object.entries(costs).map(
      ([operation, { node, pg }]) => line(operation, 'node', node) + line('', 'pg', pg),
    ),
    `\nCPU microseconds = shared + alone / connections\n${name('')}      ${cell('shared')}${cell('alone')}\n`,
    ...Object.entries(sharing).map(
      ([operation, { node, pg }]) => shared(operation, 'node', node) + shared('', 'pg', pg),
    ),
    `\nWithout requests: node ${figure(idle.node * 1e6)} us, pg ${figure(idle.pg * 1e6)} us a second\n`,
  ].join('');
}

function measured({ measured: all }: Model): string {
  const lines = Object.entries(all).flatMap(([operation, sizes]) =>
    Object.entries(sizes).map(
      ([rows, { nodeUs, pgUs, walBytes, imageBytes }]: [string, Spent]) =>
        `${name(operation)}${cell(rows)}${cell(nodeUs)}${cell(pgUs)}${walBytes > 0 ? cell(walBytes) + cell(imageBytes) : ''}\n`,
    ),
  );
  return `${name('measured')}${cell('rows')}${cell('node us')}${cell('pg us')}${cell('WAL bytes')}${cell('images')}\n${lines.join('')}`;
}

function bytes({ bytes: all }: Model): string {
  const perSize = Object.keys(all.heap).map(
    (rows) =>
      `${name('')}${cell(rows)}${cell(all.heap[Number(rows)]!)}${cell(all.indexes[Number(rows)]!)}${cell(all.buckets[Number(rows)]!)}\n`,
  );
  const single = { ...all.index, event: all.event, ...memory(all) };
  const lines = Object.entries(single).map(([what, value]) => `${name(what)}${cell(value)}\n`);
  return `${name('bytes of a record')}${cell('rows')}${cell('heap')}${cell('indexes')}${cell('buckets')}\n${perSize.join('')}${lines.join('')}`;
}

const memory = ({ connection, session, process }: Model['bytes']) => ({
  'idle connection': connection,
  'session of PostgreSQL': session,
  process,
});

function onPaper(model: Model): string {
  const lines = OPERATIONS.flatMap((operation) =>
    ON_PAPER.map((rows) => {
      const { nodeUs, pgUs } = predict(model, operation.name, rows);
      return `${name(operation.name)}${cell(rows)}${cell(nodeUs)}${cell(pgUs)}${cell(1e6 / nodeUs)}${cell(1e6 / pgUs)}\n`;
    }),
  );
  return `${name('predicted')}${cell('rows')}${cell('node us')}${cell('pg us')}${cell('/s a core')}${cell('/s pg core')}\n${lines.join('')}`;
}

function needs(model: Model): string {
  const lines = ON_PAPER.flatMap((rows) =>
    RATES.map((rate) => {
      const { nodeCores, pgCores, processes, sessions } = need(model, READ_MOSTLY, rows, rate);
      return `${name(`mostly reads, ${rate}/s`)}${cell(rows)}${cell(nodeCores)}${cell(pgCores)}${cell(processes)}${cell(sessions)}\n`;
    }),
  );
  return `${name('needed')}${cell('rows')}${cell('node cores')}${cell('pg cores')}${cell('processes')}${cell('sessions')}\n${lines.join('')}`;
}

function validation({ validation: all }: Model): string {
  const against = (of: keyof Cpu) => (row: Model['validation'][number]) =>
    cell(row.predicted[of]) + cell(row.measured[of]) + cell(row.measured[of] / row.predicted[of], 8);
  const lines = all.map((row) => `${name(row.what)}${against('nodeUs')(row)}${against('pgUs')(row)}\n`);
  return `${name('not fitted')}${cell('node')}${cell('measured')}${cell('x', 8)}${cell('pg')}${cell('measured')}${cell('x', 8)}\n${lines.join('')}`;
}
