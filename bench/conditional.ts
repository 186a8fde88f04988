import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../src/db/embedded.js';

/**
 * What conditional headers cost on point reads: `node dist/bench/conditional.js`. The same reads with and
 * without them, interleaved, 64 connections; ratios of medians to the reads without.
 */
const CONNECTIONS = 64;
const ROUND_MS = 2000;
const ROUNDS = 5;
const VARIANTS: Readonly<Record<string, http.OutgoingHttpHeaders>> = {
  plain: {},
  'If-None-Match, another version (200)': { 'if-none-match': '"999"' },
  'If-None-Match, hit (304)': { 'if-none-match': '"1"' },
  'If-Match and If-Modified-Since (200)': {
    'if-match': '"1"',
    'if-modified-since': 'Thu, 01 Jan 2015 00:00:00 GMT',
  },
};

const dataDir = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const embedded = await startEmbedded({ dataDir });
const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
const env = { ...process.env, DATABASE_URL: embedded.url, PORT: '0' };
const service = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
try {
  const [line] = (await once(service.stdout, 'data')) as [Buffer];
  const url = new URL(/http:\S+/.exec(String(line))![0]);
  const ids: string[] = [];
  for (let n = 0; n < 1000; n++) ids.push(await create(url, n));
  const rates = new Map(Object.keys(VARIANTS).map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, headers] of Object.entries(VARIANTS)) {
      const rate = await load(url, ids, headers);
      if (round > 0) rates.get(name)!.push(rate); // the first round warms up
    }
  }
  const plain = median(rates.get('plain')!);
  for (const [name, list] of rates) console.log(`${name}: ${(median(list) / plain).toFixed(2)}`);
} finally {
  service.kill('SIGTERM');
  await once(service, 'exit');
  await embedded.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
}

async function create(url: URL, n: number): Promise<string> {
  const response = await fetch(new URL('/items', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: `Item ${n}`, price: n }),
  });
  return ((await response.json()) as { id: string }).id;
}

/** Requests a second over so many connections, one at a time each. */
async function load(url: URL, ids: readonly string[], headers: http.OutgoingHttpHeaders): Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const end = performance.now() + ROUND_MS;
  let answered = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const path = `/items/${ids[Math.floor(Math.random() * ids.length)]}`;
      await new Promise<void>((resolve, reject) => {
        const request = http.get({ host: url.hostname, port: url.port, path, headers, agent }, (response) => {
          response.resume().on('end', resolve).on('error', reject);
        });
        request.on('error', reject);
      });
      answered++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  agent.destroy();
  return answered / (ROUND_MS / 1000);
}
