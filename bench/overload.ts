import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { startContestant } from './contestant.js';
import type { OpenLoad, OpenOutcome } from './open-load.js';
import { outputOf } from './output.js';
import { cpuOf } from './proc.js';
import type { Request } from './request.js';
import { openStage } from './stage.js';

/**
 * What a service does with more than it can do: `node dist/bench/overload.js [seconds] [rows]`.
 */
const SECONDS = Number(process.argv[2] ?? 5);
const ONLY = new RegExp(process.argv[3] ?? '');
const CONNECTIONS = Number(process.argv[4] ?? 1000);
const SIZE = { users: 20_000, items: 200_000 };
const JSON_TYPE = { 'content-type': 'application/json' };
const CASES: [string, Request][] = [
  ['read', { method: 'GET', path: '/users/{id}', headers: {} }],
  ['page', { method: 'GET', path: '/items?page=1&limit=100', headers: {} }],
  ['search', { method: 'GET', path: '/items?page=1&search=obsidian', headers: {} }],
  [
    'create',
    { method: 'POST', path: '/items', headers: JSON_TYPE, body: '{"name":"{unique}","price":{number}}' },
  ],
];
const LOADER = fileURLToPath(new URL('./open-load.js', import.meta.url));

const stage = await openStage((line) => process.stderr.write(`${line}\n`));
const folder = await mkdtemp(join(tmpdir(), 'plinth-bench-'));
try {
  const databaseUrl = await stage.copy('plinth', SIZE, 'overload');
  await stage.settle(databaseUrl);
  const sql = postgres(databaseUrl, { max: 1 });
  const rows = await sql<{ id: string }[]>`select id from users`;
  await sql.end();
  const idsFile = join(folder, 'ids.txt');
  await writeFile(idsFile, rows.map(({ id }) => id).join('\n'));
  const service = await startContestant('plinth', databaseUrl, JSON.parse(process.env.SETTINGS ?? '{}'));
  try {
    for (const [name, request] of CASES) {
      if (!ONLY.test(name)) continue;
      const run = async (rate: number, seconds = SECONDS, connections = CONNECTIONS) => {
        const load: OpenLoad = { url: service.url, request, idsFile, rate, connections, seconds, warm: 1 };
        const before = cpuOf(service.pid)!;
        const outcome = JSON.parse(
          await outputOf(process.execPath, [LOADER, JSON.stringify(load)]),
        ) as OpenOutcome;
        const cpu = (cpuOf(service.pid)! - before) / (seconds + 1);
        return { ...outcome, cpu };
      };
      // closed loop: as fast as 64 connections get answers
      await run(1e6, 2, 64);
      const peak = await run(1e6, 3, 64);
      const capacity = peak.good / 3;
      console.log(name, 'peak', Math.round(capacity), 'p99', peak.p99.toFixed(1), 'cpu', peak.cpu.toFixed(2));
      for (const part of [0.5, 1, 2, 5, 10]) {
        const o = await run(capacity * part);
        console.log(
          name,
          part,
          'goodput',
          (o.good / SECONDS / capacity).toFixed(2),
          'p50',
          o.p50.toFixed(1),
          'p99',
          o.p99.toFixed(1),
          'refused',
          Math.round(o.refused / SECONDS),
          'p99',
          o.refusedP99.toFixed(1),
          'unsent',
          Math.round(o.unsent / SECONDS),
          'other',
          o.other,
          o.broken,
          'cpu',
          o.cpu.toFixed(2),
        );
      }
    }
  } finally {
    await service.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
  await stage.close();
}
