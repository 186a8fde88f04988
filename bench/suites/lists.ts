import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '../../src/db/migrate.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { fill } from '../harness/data.js';

/**
 * The cost of whole lists and pages of a large collection: `node dist/bench/lists.js [rows]`. Prints resident memory, time
 * to the first byte and time in all for GET /users, then pages and searches of /items.
 */
const rows = Number(process.argv[2] ?? 1_000_000);
const dataDir = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const embedded = await startEmbedded({
  dataDir,
  settings: ['fsync=off', 'max_wal_size=8GB', 'maintenance_work_mem=512MB'],
});
try {
  await migrate(embedded.url, 10_000);
  process.stderr.write(`filling ${rows} users and ${rows} items ...\n`);
  await fill(embedded.url, rows, rows);
  await measure(embedded.url);
} finally {
  await embedded.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function measure(databaseUrl: string): Promise<void> {
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
  const service = spawn(process.execPath, [main], {
    env: { ...process.env, DATABASE_URL: databaseUrl, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(service.stdout, 'data')) as [Buffer];
  const url = /http:\S+/.exec(String(line))![0];
  try {
    for (let warm = 0; warm < 200; warm++) await get(`${url}/items?page=${warm + 1}`);
    const idle = residentMb(service.pid!);
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, residentMb(service.pid!));
    }, 20);
    const list = await get(`${url}/users`);
    clearInterval(watch);
    print('GET /users', { ...list, idleMb: idle, peakMb: peak, aboveIdleMb: peak - idle });
    const last = Math.ceil(rows / 20);
    const middle = Math.ceil(last / 2);
    for (const query of [
      `page=1`,
      `page=${middle}`,
      `page=${last}`,
      'page=1&sort=price',
      `page=${middle}&sort=name&order=asc`,
      'page=1&search=zirconium',
      'page=1&search=lamp',
      'page=1&search=la',
      'page=1&search=q',
      'page=1&search=nothing-like-it',
    ]) {
      const runs = [];
      for (let run = 0; run < 5; run++) runs.push(await get(`${url}/items?${query}`));
      runs.sort((a, b) => a.ms - b.ms);
      print(`GET /items?${query}`, { ms: runs[2]!.ms, bytes: runs[2]!.bytes });
    }
  } finally {
    service.kill('SIGTERM');
    await once(service, 'exit');
  }
}

interface Got {
  readonly status: number;
  readonly firstByteMs: number;
  readonly ms: number;
  readonly bytes: number;
}

function get(url: string): Promise<Got> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    http
      .get(url, { agent: false }, (response) => {
        let firstByteMs = 0;
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          firstByteMs ||= performance.now() - start;
          bytes += chunk.length;
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            firstByteMs: round(firstByteMs),
            ms: round(performance.now() - start),
            bytes,
          }),
        );
      })
      .on('error', reject);
  });
}

/** Resident memory from /proc: this measures on Linux. */
function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function print(what: string, figures: object): void {
  process.stdout.write(`${what}: ${JSON.stringify(figures)}\n`);
}
