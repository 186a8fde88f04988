import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { startEmbedded } from '../../src/db/embedded/embedded.js';
import { createLog } from '../../src/telemetry/log.js';
import { LONG_REQUESTS, type LongRequest, RECORDS } from './long-requests.js';

/**
 * How long single requests occupy the event loop: `node dist/bench/event-loop.js [rounds]`. Sends the most expensive
 * requests from another thread, one at a time, to a service in this one, and prints the longest tick of each in
 * milliseconds: the shortest of some rounds, since other work of the machine only adds to it.
 */
const MAX_MS = 50;
const ROUNDS = Number(process.argv[2] ?? 5);

if (isMainThread) await measureAll();
else parentPort!.on('message', (request: LongRequest) => send(workerData as string, request));

async function measureAll(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'plinth-ticks-'));
  const embedded = await startEmbedded({ dataDir, settings: ['fsync=off'] });
  const config = readConfig({ PORT: '0', DATABASE_URL: embedded.url });
  const service = await startApp(config, createLog('silent'));
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: service.url });
  const ask = (request: LongRequest) =>
    new Promise<{ status: number; id: string }>((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(request);
    });
  try {
    const ids = new Map<string, string>();
    const create = async (name: string) => {
      const { id } = await ask({ name, method: 'POST', path: '/items', body: RECORDS[name]! });
      ids.set(name, id);
    };
    for (const name of Object.keys(RECORDS)) await create(name);
    let missed = 0;
    for (const request of LONG_REQUESTS) {
      const [name = ''] = /(?<=\{)\w+(?=\})/.exec(request.path) ?? [];
      const ticks: number[] = [];
      let status = 0;
      for (let round = 0; round < ROUNDS; round++) {
        if (name !== '' && request.method === 'PATCH') await create(name);
        const filled = JSON.stringify(request).replaceAll(/\{(\w+)\}/g, (all, key) => ids.get(key) ?? all);
        const { longest, value } = await longestTickOf(() => ask(JSON.parse(filled) as LongRequest));
        ticks.push(longest);
        status = value.status;
      }
      const longest = Math.min(...ticks);
      if (longest > MAX_MS) missed++;
      const verdict = longest > MAX_MS ? '  MISSED' : '';
      process.stdout.write(`${longest.toFixed(1).padStart(7)} ms  ${status}  ${request.name}${verdict}\n`);
    }
    process.stdout.write(
      `${LONG_REQUESTS.length} requests, ${missed} with a tick of more than ${MAX_MS} ms\n`,
    );
  } finally {
    await worker.terminate();
    await service.stop();
    await embedded.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The longest tick of the event loop until some work is done. */
async function longestTickOf<T>(work: () => Promise<T>): Promise<{ longest: number; value: T }> {
  let longest = 0;
  let before = performance.now();
  let over = false;
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
    if (!over) setImmediate(tick);
  };
  setImmediate(tick);
  const value = await work();
  over = true;
  return { longest, value };
}

/** Sends a request and posts the status, and the id of a record that was created. */
function send(url: string, { method, path, body, type = 'application/json', accept }: LongRequest): void {
  const { hostname, port } = new URL(url);
  const content =
    body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) };
  const headers = { ...content, ...(accept === undefined ? {} : { accept }) };
  const request = http.request({ hostname, port, method, path, headers, agent: false }, (response) => {
    const id = String(response.headers.location ?? '')
      .split('/')
      .at(-1)!;
    response.resume().once('end', () => parentPort!.postMessage({ status: response.statusCode, id }));
  });
  request.once('error', () => parentPort!.postMessage({ status: 0, id: '' }));
  request.end(body);
}
