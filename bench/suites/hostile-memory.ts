import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { startContestant } from '../harness/contestant.js';
import { forgetPeak, memoryOf } from '../harness/proc.js';
import type { HostileLoad } from './hostile-clients.js';

/**
 * The effect of 200 hostile clients of every kind on a small service: `node dist/bench/hostile-memory.js [seconds]
 * [clients]`. The service has a heap of 256 MB. The service is to survive a minute with less than 400 MB of resident memory,
 * and /healthz is to respond within 200 ms.
 */
const SECONDS = Number(process.argv[2] ?? 60);
const CLIENTS = Number(process.argv[3] ?? 200);
const HEAP_MB = 256;
const MAX_RESIDENT_MB = 400;
const MAX_HEALTH_MS = 200;
const PROBE_MS = 100;
const ATTACK = fileURLToPath(new URL('./hostile-clients.js', import.meta.url));

const dataDir = await mkdtemp(join(tmpdir(), 'plinth-hostile-'));
const embedded = await startEmbedded({ dataDir, settings: ['fsync=off'] });
const service = await startContestant('plinth', embedded.url, {
  NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} ${process.env.HOSTILE_OPTIONS ?? ''}`,
});
let alive = true;
try {
  const load = { url: service.url, seconds: SECONDS, clients: CLIENTS, ...(await fill(service.url)) };
  const idle = memoryOf(service.pid)!;
  forgetPeak(service.pid);
  const waits = await attacked(load);
  const memory = memoryOf(service.pid);
  alive = memory !== undefined;
  waits.sort((a, b) => a - b);
  const at = (part: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * part))]!.toFixed(0);
  const peak = (memory?.peak ?? 0) / 1024;
  const verdict = (met: boolean) => (met ? 'met' : 'MISSED');
  process.stdout.write(`the service ${alive ? 'survived' : 'ended: MISSED'}\n`);
  process.stdout.write(
    `resident memory: ${(idle.resident / 1024).toFixed(0)} MB before, at most ${peak.toFixed(0)} MB: ${verdict(alive && peak < MAX_RESIDENT_MB)}\n`,
  );
  process.stdout.write(
    `/healthz: ${waits.length} probes, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms: ${verdict(alive && waits.at(-1)! < MAX_HEALTH_MS)}\n`,
  );
} finally {
  if (alive) await service.stop();
  await embedded.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** Attacks from another process, and gives how long each response of /healthz took in milliseconds. */
async function attacked(load: HostileLoad): Promise<number[]> {
  const child = spawn(process.execPath, [ATTACK, JSON.stringify(load)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = once(child, 'exit').then(() => true);
  const waits: number[] = [];
  const agent = new http.Agent({ keepAlive: true });
  for (let over = false; !over; ) {
    waits.push(await probe(load.url, agent));
    if (process.env.HOSTILE_TRACE && waits.at(-1)! > 150)
      process.stderr.write(`${waits.length}: ${waits.at(-1)!.toFixed(0)}\n`);
    over = await Promise.race([exited, sleep(PROBE_MS, false)]);
  }
  agent.destroy();
  return waits;
}

/** Infinity: there was no 200. */
function probe(url: string, agent: http.Agent): Promise<number> {
  const since = performance.now();
  return new Promise((resolve) => {
    const request = http.get(new URL('/healthz', url), { agent }, (response) => {
      response.resume();
      const isOk = response.statusCode === 200;
      response.once('end', () => resolve(isOk ? performance.now() - since : Number.POSITIVE_INFINITY));
    });
    request.once('error', () => resolve(Number.POSITIVE_INFINITY));
  });
}

async function fill(url: string): Promise<Pick<HostileLoad, 'user' | 'nested' | 'long'>> {
  const create = async (path: string, body: string): Promise<string> => {
    const response = await fetch(new URL(path, url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    if (response.status !== 201) throw new Error(`${path}: status ${response.status}`);
    return ((await response.json()) as { id: string }).id;
  };
  const text = JSON.stringify('é'.repeat(500_000));
  const user = await create('/users', '{"email":"a@example.org","name":"Ann"}');
  for (let at = 0; at < 6; at++) await create(`/users/${user}/posts`, `{"x":${text}}`);
  const deep = `${'['.repeat(28)}${'0,'.repeat(479_999)}0${']'.repeat(28)}`;
  const nested = await create('/items', `{"name":"nested","deep":${deep}}`);
  return { user, nested, long: await create('/items', `{"name":"long","x":${text}}`) };
}
