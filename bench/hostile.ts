import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { holdConnections, whyNotHold } from './idle.js';
import { memoryOf } from './proc.js';
import { openReadBench, type ReadBench } from './read-bench.js';
import { median } from './stats.js';

/**
 * What slow clients take from the others: `node dist/bench/hostile.js [rounds]`. Needs wrk, and slowhttptest
 * (Debian has it). Point reads are measured before, during and after each kind of attack by 1,000 connections; then
 * the memory of 10,000 idle connections.
 */
const ROUNDS = Number(process.argv[2] ?? 3);
const CONNECTIONS = 1000;
const IDLE = 10_000;
const SECONDS = 3;

/** Each as slowhttptest has it; what is read slowly is a page larger than any buffer on the way. */
const ATTACKS: readonly (readonly [label: string, path: string, ...args: string[]])[] = [
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

async function measure(
  { read, url }: ReadBench,
  [label, path, ...args]: (typeof ATTACKS)[number],
): Promise<void> {
  const ratios: number[] = [];
  const costs: number[] = [];
  const figures: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = await read(SECONDS);
    const lasts = String(SECONDS + 20);
    const options = [
      '-c',
      String(CONNECTIONS),
      '-r',
      '500',
      '-l',
      lasts,
      '-p',
      '5',
      '-u',
      url + path,
      ...args,
    ];
    const child = spawn('slowhttptest', options, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    // All of them have come by then, and none has yet been ended.
    await sleep(4000);
    const during = await read(SECONDS);
    child.kill('SIGINT');
    await ended;
    const after = await read(SECONDS);
    const all = [before, during, after];
    ratios.push(during.rate / ((before.rate + after.rate) / 2));
    costs.push(during.us / ((before.us + after.us) / 2));
    figures.push(all.map(({ rate }) => Math.round(rate)).join(' '));
  }
  const ratio = median(ratios);
  const rates = `(${figures.join(', ')} a second before, during, after)`;
  const cost = `a read costs ${median(costs).toFixed(2)} x the CPU time`;
  process.stdout.write(
    `slow ${label}: ${ratio.toFixed(2)} of the reads ${rates}, ${cost}: ${ratio >= 0.9 ? 'met' : 'MISSED'}\n`,
  );
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
