import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { startContestant } from '../harness/contestant.js';
import { holdConnections, whyNotHold } from '../harness/idle.js';
import { memoryOf } from '../harness/proc.js';
import { openReadBench, type ReadBench } from '../harness/read-bench.js';
import { median } from '../harness/stats.js';

/**
 * The capacity that slow clients take from the others: `node dist/bench/hostile.js [rounds]`. Needs wrk, and slowhttptest
 * (Debian has it). Point reads are measured before, during and after each kind of attack by 1,000 connections; then the
 * memory of 10,000 idle connections.
 */
const ROUNDS = Number(process.argv[2] ?? 3);
const CONNECTIONS = 1000;
const IDLE = 10_000;
const SECONDS = 3;

type Attack = readonly [label: string, path: string, ...args: string[]];

/** Each as slowhttptest has it; what is read slowly is a page larger than any buffer on the way. */
const ATTACKS: readonly Attack[] = [
  ['header fields', '/users', '-H', '-i', '2', '-x', '24'],
  ['bodies', '/items', '-B', '-s', '8192', '-f', 'application/json', '-i', '2', '-x', '10'],
  [
    'reading a page',
    '/items?page=1&limit=100',
    '-X',
    '-w',
    '1',
    '-y',
    '512',
    '-n',
    '5',
    '-z',
    '32',
    '-k',
    '3',
  ],
  ['reading a whole list', '/users', '-X', '-w', '1', '-y', '512', '-n', '5', '-z', '32', '-k', '1'],
];

const bench = await openReadBench();
try {
  if (spawnSync('slowhttptest', ['-h']).error)
    process.stdout.write('slowhttptest is not installed: no attacks\n');
  else for (const attack of ATTACKS) await measure(bench, attack);
  await idle(bench);
} finally {
  await bench.close();
}

/**
 * The attack on the service whose reads are measured, and on another process of the same beside it: what that one costs
 * is what the attack takes from the machine, whatever its target is.
 */
async function measure(bench: ReadBench, attack: Attack): Promise<void> {
  const ratios: number[] = [];
  const parts: number[] = [];
  const figures: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const aimed = await attacked(bench, attack, bench.url);
    const other = await startContestant('plinth', bench.databaseUrl);
    const beside = await attacked(bench, attack, other.url);
    await other.stop();
    ratios.push(aimed.ratio);
    parts.push(aimed.ratio / beside.ratio);
    figures.push(`${aimed.figures}, beside ${beside.figures}`);
  }
  const [ratio, part] = [median(ratios), median(parts)];
  process.stdout.write(
    `slow ${attack[0]}: ${ratio.toFixed(2)} of the reads: ${ratio >= 0.9 ? 'met' : 'MISSED'}; ${part.toFixed(2)} of those that there are while another process is attacked (${figures.join('; ')} a second before, during, after)\n`,
  );
}

/** The rate of reads while `target` is attacked, to that before and after it. */
async function attacked(
  { read }: ReadBench,
  [, path, ...args]: Attack,
  target: string,
): Promise<{ ratio: number; figures: string }> {
  const before = await read(SECONDS);
  // When its probe gets no response in time (-p) it goes on in a busy loop, which takes one of the cores that all share.
  const lasts = ['-l', String(SECONDS + 20), '-p', '60'];
  const options = ['-c', String(CONNECTIONS), '-r', '500', ...lasts, '-u', target + path, ...args];
  const child = spawn('slowhttptest', options, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  // All connections have come by then, and none has been ended yet.
  await sleep(4000);
  const during = await read(SECONDS);
  child.kill('SIGINT');
  await ended;
  // Lists that waited for a place begin now, for readers that turn out to be gone.
  await sleep(3000);
  const after = await read(SECONDS);
  const figures = [before, during, after].map(({ rate }) => Math.round(rate)).join(' ');
  return { ratio: during.rate / ((before.rate + after.rate) / 2), figures };
}

async function idle({ url, pid, path }: ReadBench): Promise<void> {
  const why = whyNotHold(IDLE);
  if (why !== undefined) return void process.stdout.write(`no idle connections: ${why}\n`);
  const before = memoryOf(pid);
  const release = await holdConnections(new URL(path, url), IDLE);
  const after = memoryOf(pid);
  release();
  if (!before || !after) return;
  const mb = (after.resident - before.resident) / 1024;
  process.stdout.write(`${IDLE} idle connections: ${mb.toFixed(1)} MB: ${mb < 100 ? 'met' : 'MISSED'}\n`);
}
