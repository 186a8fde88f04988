import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { settingsOf } from '../../src/app/open-features.js';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { FEATURES } from '../../src/features.js';
import { createLog } from '../../src/telemetry/log.js';
import { ticksOf, type Work } from '../harness/ticks.js';
import { ADDRESSES, HEADER_FIELDS, OTHERS, QUERIES } from './growing-addresses.js';
import { BODIES, DECLARED, NORMALIZED, RULES } from './growing-bodies.js';
import type { Input, Sent } from './growing-input.js';
import { PATCHES } from './growing-patches.js';
import { RECORDS } from './growing-records.js';
import { LARGE_DECLARED, LARGE_SCHEMAS } from './growing-schemas.js';

/**
 * The time of the processor by the size of a request: `node dist/bench/suites/input-growth.js [rounds] [pattern of names]`.
 * Sends the worst input of each entry point with n and with 2n bytes from another thread to a service in this one. Prints the
 * medians in milliseconds, how many times as long the larger one takes, and the longest tick of the event loop.
 */
const ROUNDS = Number(process.argv[2] ?? 5);
const NAMES = new RegExp(process.argv[3] ?? '');
const MAX_GROWTH = 2.6;
const MAX_TICK_MS = 200;
/** Work that takes less is not compared, since the clock of a thread has steps of up to 4 ms. */
const MIN_MS = 16;

interface Row {
  readonly name: string;
  readonly bytes: number;
  readonly status: number;
  readonly half: number;
  readonly whole: number;
  readonly longest: number;
}

if (isMainThread) await measureAll();
else parentPort!.on('message', (sent: Sent) => send(workerData as string, sent));

async function measureAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-growth-'));
  const embedded = await startEmbedded({ dataDir: join(folder, 'data'), settings: ['fsync=off'] });
  const COLLECTIONS = await declare(join(folder, 'collections'));
  const settings = { PORT: '0', DATABASE_URL: embedded.url, COLLECTIONS, MIGRATE: 'auto', MCP: 'on' };
  const config = readConfig(settings, {}, '', settingsOf(FEATURES));
  const service = await startApp(config, createLog('silent'), FEATURES);
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: service.url });
  const ask = (sent: Sent) =>
    new Promise<Received>((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(sent);
    });
  try {
    let missed = 0;
    const inputs = [
      ...[...BODIES, ...NORMALIZED, ...PATCHES, ...RECORDS],
      ...[...HEADER_FIELDS, ...ADDRESSES, ...QUERIES, ...OTHERS, ...RULES, ...LARGE_SCHEMAS],
    ].filter(({ name }) => NAMES.test(name));
    for (const input of inputs) missed += show(await measure(input, ask));
    process.stdout.write(`${inputs.length} inputs, ${missed} missed\n`);
  } finally {
    await worker.terminate();
    await service.stop();
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Received {
  readonly status: number;
  readonly location: string;
}

/** The folder with the built-in collections and those that the inputs need. */
async function declare(folder: string): Promise<string> {
  await mkdir(folder);
  await cp(fileURLToPath(new URL('../../../collections/', import.meta.url)), folder, { recursive: true });
  for (const [name, declaration] of Object.entries({ ...DECLARED, ...LARGE_DECLARED }))
    await writeFile(join(folder, name), JSON.stringify(declaration));
  return folder;
}

async function measure(input: Input, ask: (sent: Sent) => Promise<Received>): Promise<Row> {
  const sizes = [input.bytes / 2, input.bytes] as const;
  const measured: [number[], number[]] = [[], []];
  let [longest, status] = [Number.POSITIVE_INFINITY, 0];
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, bytes] of sizes.entries()) {
      const record = input.record && (await ask(input.record(bytes)));
      const sent = input.sent(bytes, record?.location ?? '');
      const work: Work<Received> = await ticksOf(() => ask(sent));
      measured[at]!.push(work.sum);
      status = work.value.status;
      if (at === 1) longest = Math.min(longest, work.longest);
    }
  const [half, whole] = measured.map(median) as [number, number];
  return { name: input.name, bytes: input.bytes, status, half, whole, longest };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** Prints a row, and returns 1 if it misses a limit. */
function show({ name, bytes, status, half, whole, longest }: Row): number {
  const growth = whole / Math.max(half, MIN_MS / 2);
  const isMissed = longest > MAX_TICK_MS || (whole >= MIN_MS && growth > MAX_GROWTH);
  const figures = [half, whole, growth, longest].map((each) => each.toFixed(1).padStart(8)).join('');
  process.stdout.write(
    `${figures}  ${status}  ${name} (${Math.round(bytes / 1024)} KiB)${isMissed ? '  MISSED' : ''}\n`,
  );
  return isMissed ? 1 : 0;
}

function send(url: string, { method, path, body, headers = {} }: Sent): void {
  const { hostname, port } = new URL(url);
  const content = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const options = { hostname, port, method, path, headers: { ...content, ...headers }, agent: false };
  const request = http.request(options, (response) => {
    const location = response.headers.location ?? '';
    response
      .resume()
      .once('close', () => parentPort!.postMessage({ status: response.statusCode ?? 0, location }));
  });
  request.once('error', () => parentPort!.postMessage({ status: 0, location: '' }));
  request.end(body);
}
