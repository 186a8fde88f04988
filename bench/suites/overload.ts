import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { outputOf } from '../harness/output.js';
import { cpuOf } from '../harness/proc.js';
import { openReadBench, type ReadBench } from '../harness/read-bench.js';
import type { Request } from '../harness/request.js';
import { median, short } from '../harness/stats.js';
import type { OpenLoad, OpenOutcome } from './open-load.js';

/**
 * The behaviour of a service under more load than it can serve: `node dist/bench/overload.js [seconds] [rows] [connections]
 * [rounds]`. The peak is what 64 connections get that ask again at once, taken before and after each load, since the speed
 * of a shared machine changes within a round. Requests come at parts and multiples of it, whatever the responses, each from
 * any of the connections that are free; those that find none free are reported as unsent: on a machine with few cores
 * neither the sender nor the system could bring more. The connections are more than the service lets in (MAX_REQUESTS): with
 * fewer it would refuse nobody. A second at the start of each load is not counted.
 */
const [SECONDS = 5, , CONNECTIONS = 2000, ROUNDS = 3] = process.argv.slice(2).map(Number);
const ONLY = new RegExp(process.argv[3] ?? '');
const PARTS = [0.5, 1, 2, 5, 10];
const JSON_TYPE = { 'content-type': 'application/json' };
const CASES: readonly (readonly [string, Request])[] = [
  ['read', { method: 'GET', path: '/users/{id}', headers: {} }],
  ['page', { method: 'GET', path: '/items?page={number}&limit=100', headers: {} }],
  ['search', { method: 'GET', path: '/items?page=1&search=lamp%20{number}', headers: {} }],
  ['create', { method: 'POST', path: '/items', headers: JSON_TYPE, body: '{"name":"{unique}"}' }],
];
const LOADER = fileURLToPath(new URL('./open-load.js', import.meta.url));
const RESULTS = fileURLToPath(new URL('../../../bench/results/', import.meta.url));

interface Outcome extends OpenOutcome {
  readonly cpu: number;
}

interface Line {
  readonly name: string;
  readonly part: number;
  /** A part of the peak. */
  readonly goodput: number;
  readonly p50: number;
  readonly p99: number;
  readonly refused: number;
  readonly refusedP99: number;
  readonly unsent: number;
  readonly wrong: number;
  readonly cpu: number;
}

const bench = await openReadBench();
try {
  const lines: Line[] = [];
  for (const [name, request] of CASES)
    if (ONLY.test(name)) lines.push(...(await measure(bench, name, request)));
  mkdirSync(RESULTS, { recursive: true });
  const date = new Date().toISOString().slice(0, 10);
  const report = { date, seconds: SECONDS, connections: CONNECTIONS, rounds: ROUNDS, lines };
  writeFileSync(`${RESULTS}overload.json`, `${JSON.stringify(report, null, 1)}\n`);
} finally {
  await bench.close();
}

async function measure(bench: ReadBench, name: string, request: Request): Promise<Line[]> {
  const rounds: Line[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const lines: Line[] = [];
    let peak = await peakOf(bench, request);
    for (const part of PARTS) {
      const outcome = await run(bench, request, peak * part, CONNECTIONS);
      const after = await peakOf(bench, request);
      lines.push(lineOf(name, part, (peak + after) / 2, outcome));
      process.stdout.write(`${name}: peaks of ${Math.round(peak)} and ${Math.round(after)} a second\n`);
      peak = after;
    }
    rounds.push(lines);
  }
  const lines = PARTS.map((_, at) => medianOf(rounds.map((round) => round[at]!)));
  for (const line of lines) process.stdout.write(`${textOf(line)}\n`);
  const [half, max] = [lines[0]!, lines.at(-1)!];
  const met = max.goodput >= 0.9 && max.p99 < 5 * half.p99;
  process.stdout.write(
    `${name}: p99 at ten times is ${short(max.p99 / half.p99)} x: ${met ? 'met' : 'MISSED'}\n`,
  );
  return lines;
}

async function peakOf(bench: ReadBench, request: Request): Promise<number> {
  return (await run(bench, request, 1e6, 64)).good / SECONDS;
}

async function run(bench: ReadBench, request: Request, rate: number, connections: number): Promise<Outcome> {
  const { url, pid, idsFile } = bench;
  const load: OpenLoad = { url, request, idsFile, rate, connections, seconds: SECONDS, warm: 1 };
  const before = cpuOf(pid) ?? 0;
  const outcome = JSON.parse(await outputOf(process.execPath, [LOADER, JSON.stringify(load)])) as OpenOutcome;
  return { ...outcome, cpu: ((cpuOf(pid) ?? 0) - before) / (SECONDS + 1) };
}

function lineOf(name: string, part: number, peak: number, outcome: Outcome): Line {
  const { good, refused, unsent, other, broken, p50, p99, refusedP99, cpu } = outcome;
  const aSecond = (count: number) => Math.round(count / SECONDS);
  return {
    name,
    part,
    goodput: good / SECONDS / peak,
    p50,
    p99,
    refused: aSecond(refused),
    refusedP99,
    unsent: aSecond(unsent),
    wrong: other + broken,
    cpu,
  };
}

function medianOf(lines: readonly Line[]): Line {
  const numbers = Object.entries(lines[0]!).filter(([, value]) => typeof value === 'number');
  const middle = numbers.map(([key]) => [key, short(median(lines.map((line) => line[key as 'p99'])))]);
  return { ...lines[0]!, ...Object.fromEntries(middle) };
}

function textOf({ part, goodput, p50, p99, refused, refusedP99, unsent, wrong, cpu }: Line): string {
  return `${String(part).padStart(4)} x: goodput ${goodput}, p50 ${p50} ms, p99 ${p99} ms, ${refused} refused a second (p99 ${refusedP99} ms), ${unsent} unsent, ${wrong} wrong, ${cpu} cores`;
}
