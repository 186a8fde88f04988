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
import { ticksOf } from '../harness/ticks.js';
import { LONG_REQUESTS, type LongRequest, RECORDS } from './long-requests.js';
import { KEYWORDS, worstValues } from './worst-bodies.js';
import { listsOf, QUERIED, worstQueries } from './worst-queries.js';

/**
 * How long single requests occupy the event loop: `node dist/bench/suites/event-loop.js [rounds] [pattern of names]`. Sends
 * the most expensive requests from another thread, one at a time, to a service in this one, and prints the longest tick of
 * each in milliseconds: the shortest of some rounds. A tick that waited for a core counts the CPU time of its thread, on older
 * Node outside of Linux that of the process. Of the many bodies and queries that are worst for a keyword or a parameter it prints the longest ticks.
 */
const MAX_MS = 200;
const ROUNDS = Number(process.argv[2] ?? 5);
const NAMES = new RegExp(process.argv[3] ?? '');
const SHOWN = 5;
/** As large as bodies may be, with some bytes to spare for the name of a field. */
const BYTES = 1_048_000;
/** Records of the collection that is queried, each of so many characters, so that a page of them is built in memory. */
const QUERIED_RECORDS = 100;
const QUERIED_LENGTH = 6000;

interface Tick {
  readonly name: string;
  readonly status: number;
  readonly longest: number;
}

if (isMainThread) await measureAll();
else parentPort!.on('message', (request: LongRequest) => send(workerData as string, request));

async function measureAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-ticks-'));
  const embedded = await startEmbedded({ dataDir: join(folder, 'data'), settings: ['fsync=off'] });
  const COLLECTIONS = await declare(join(folder, 'collections'));
  const config = readConfig(
    { PORT: '0', DATABASE_URL: embedded.url, COLLECTIONS, MIGRATE: 'auto' },
    {},
    '',
    settingsOf(FEATURES),
  );
  const service = await startApp(config, createLog('silent'), FEATURES);
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: service.url });
  const ask = (request: LongRequest) =>
    new Promise<{ status: number; id: string }>((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(request);
    });
  try {
    const records = await measureLong(ask);
    const bodies = await measureEach(ask, declaredRequests());
    const queries = await measureEach(ask, await queryRequests(ask));
    for (const tick of records) show(tick);
    for (const [kind, ticks] of [
      ['bodies of declared keywords', bodies],
      ['queries of lists', queries],
    ] as const) {
      process.stdout.write(`the longest of ${ticks.length} ${kind}:\n`);
      for (const tick of ticks.sort((a, b) => b.longest - a.longest).slice(0, SHOWN)) show(tick);
    }
    const all = [...records, ...bodies, ...queries];
    const missed = all.filter(({ longest }) => longest > MAX_MS).length;
    process.stdout.write(`${all.length} requests, ${missed} with a tick of more than ${MAX_MS} ms\n`);
  } finally {
    await worker.terminate();
    await service.stop();
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

type Ask = (request: LongRequest) => Promise<{ status: number; id: string }>;

/** The folder with the built-in collections, one with a field for each keyword, and those that are queried. */
async function declare(folder: string): Promise<string> {
  await mkdir(folder);
  await cp(fileURLToPath(new URL('../../../collections/', import.meta.url)), folder, { recursive: true });
  for (const [name, declaration] of Object.entries({ 'rules.json': KEYWORDS, ...QUERIED }))
    await writeFile(join(folder, name), JSON.stringify(declaration));
  return folder;
}

async function measureLong(ask: Ask): Promise<Tick[]> {
  const ids = new Map<string, string>();
  const create = async (name: string) => {
    const { id } = await ask({ name, method: 'POST', path: '/items', body: RECORDS[name]! });
    ids.set(name, id);
  };
  for (const name of Object.keys(RECORDS)) await create(name);
  return measureEach(ask, LONG_REQUESTS, async (request) => {
    const [name = ''] = /(?<=\{)\w+(?=\})/.exec(request.path) ?? [];
    if (name !== '' && request.method === 'PATCH') await create(name);
    const filled = JSON.stringify(request).replaceAll(/\{(\w+)\}/g, (all, key) => ids.get(key) ?? all);
    return JSON.parse(filled) as LongRequest;
  });
}

/** Each worst value for each keyword. */
function declaredRequests(): LongRequest[] {
  return Object.keys(KEYWORDS.properties).flatMap((keyword) =>
    Object.entries(worstValues(BYTES)).map(([name, value]) => ({
      name: `${keyword}: ${name}`,
      method: 'POST',
      path: '/rules',
      body: `{"${keyword}":${value}}`,
    })),
  );
}

async function queryRequests(ask: Ask): Promise<LongRequest[]> {
  const post = (path: string, body: object) =>
    ask({ name: path, method: 'POST', path, body: JSON.stringify(body) });
  const { id: ownerId } = await post('/owners', { name: 'a' });
  const note = 'ab é'.repeat(QUERIED_LENGTH / 4);
  for (let at = 0; at < QUERIED_RECORDS; at++)
    await post('/things', { title: `ab${at}`, note, price: at, tags: ['a'], ownerId });
  return listsOf(ownerId).flatMap(worstQueries);
}

async function measureEach(
  ask: Ask,
  requests: readonly LongRequest[],
  prepare = async (request: LongRequest) => request,
): Promise<Tick[]> {
  const measured: Tick[] = [];
  for (const request of requests.filter(({ name }) => NAMES.test(name))) {
    let [longest, status] = [Number.POSITIVE_INFINITY, 0];
    for (let round = 0; round < ROUNDS; round++) {
      const prepared = await prepare(request);
      const tick = await ticksOf(() => ask(prepared));
      longest = Math.min(longest, tick.longest);
      status = tick.value.status;
    }
    measured.push({ name: request.name, status, longest });
  }
  return measured;
}

function show({ name, status, longest }: Tick): void {
  const verdict = longest > MAX_MS ? '  MISSED' : '';
  process.stdout.write(`${longest.toFixed(1).padStart(7)} ms  ${status}  ${name}${verdict}\n`);
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
