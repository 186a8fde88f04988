import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describeMachine } from '../harness/machine.js';
import { memoryOf } from '../harness/proc.js';
import { openReadBench } from '../harness/read-bench.js';
import { median } from '../harness/stats.js';
import { counted } from '../report/chart.js';
import { curve, type Point } from '../report/curve.js';

/**
 * Whether memory grows: `node dist/bench/soak.js [seconds]`, ten minutes by default. Everything that clients do, good
 * and bad, at once; resident memory every five seconds. It is to end within 10 % of what it was after the first
 * minute: the median of the last minute against that of the second. Writes bench/results/soak.json, and docs/soak.svg
 * when it ran for ten minutes.
 */
const SECONDS = Number(process.argv[2] ?? 600);
const WHOLE = 600;
/** When the service is assumed to be warm. */
const WARM = Math.min(60, SECONDS / 2);
const EVERY = 5;
const TOLERANCE = 0.1;
/** Clients that do one thing after the other. */
const CLIENTS = 24;
/** Records that exist at most: what is created is deleted in time, so that the load stays the same. */
const MAX_RECORDS = 500;
/**
 * Whole lists are seldom, since one costs as much as thousands of reads, and spread over the clients: all at once every
 * half minute, they were a peak of their own for as long as the clients ran in step.
 */
const LIST_EVERY = 500;
const RESULTS = fileURLToPath(new URL('../../../bench/results/', import.meta.url));
const CHART = fileURLToPath(new URL('../../../docs/soak.svg', import.meta.url));

const bench = await openReadBench();
const agent = new http.Agent({ keepAlive: true, maxSockets: CLIENTS });
const statuses = new Map<string, number>();
const created: string[] = [];
let unique = 0;
try {
  const end = performance.now() + SECONDS * 1000;
  const points: Point[] = [];
  const clients = Array.from({ length: CLIENTS }, (_, client) => load(end, (client / CLIENTS) * LIST_EVERY));
  for (let at = 0; at <= SECONDS; at += EVERY) {
    await sleep(end - SECONDS * 1000 + at * 1000 - performance.now());
    const memory = memoryOf(bench.pid);
    if (!memory) throw new Error('there is no /proc to read the memory from');
    points.push({ seconds: at, mb: memory.resident / 1024 });
  }
  await Promise.all(clients);
  print(points);
} finally {
  agent.destroy();
  await bench.close();
}

function print(points: readonly Point[]): void {
  // One sample is anywhere in the collector's saw-tooth, a quarter of it all: only medians tell whether it grows.
  const minutes: number[] = [];
  for (let at = WARM; at < SECONDS; at += 60)
    minutes.push(
      median(points.filter(({ seconds }) => seconds >= at && seconds < at + 60).map(({ mb }) => mb)),
    );
  const [base, last] = [minutes[0]!, minutes.at(-1)!];
  const met = Math.abs(last / base - 1) <= TOLERANCE;
  const samples = [points.find(({ seconds }) => seconds >= WARM)!.mb, points.at(-1)!.mb];
  const counts = Object.fromEntries([...statuses].sort());
  const date = new Date().toISOString().slice(0, 10);
  const ratio = last / base;
  const report = { date, seconds: SECONDS, base, last, ratio, met, samples, minutes, counts, points };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}soak.json`, `${JSON.stringify(report)}\n`);
  const { cpu, cores, versions } = describeMachine();
  const note = `${date}, ${cpu}, ${cores} cores, Node ${versions.node}; ${counted([...statuses.values()].reduce((a, b) => a + b, 0))} requests`;
  if (SECONDS >= WHOLE) writeFileSync(CHART, curve(points, base, TOLERANCE, note));
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  process.stdout.write(
    `${base.toFixed(1)} MB in the minute after the first ${WARM} s, ${last.toFixed(1)} MB in the last, ${ratio.toFixed(3)} x: ${met ? 'met' : 'MISSED'}; by minutes ${minutes.map((mb) => mb.toFixed(0)).join(', ')} MB; single samples ${samples.map((mb) => mb.toFixed(0)).join(' and ')} MB\n`,
  );
}

/** The acts of one client: each as often as it stands here. The first whole list comes the sooner the higher `from`. */
async function load(end: number, from: number): Promise<void> {
  const JSON_TYPE = { 'content-type': 'application/json' };
  const any = (max: number) => Math.floor(Math.random() * max);
  const acts: (() => Promise<void>)[] = [
    ...new Array(8).fill(() => ask('GET', bench.path)),
    ...new Array(4).fill(() => ask('GET', `/items?page=${1 + any(9000)}`)),
    () => ask('GET', `/items?page=1&search=lamp%20${any(1000)}`),
    () => ask('GET', `/items?page=${1 + any(100)}&sort=price&order=asc&limit=100`),
    ...new Array(3).fill(create),
    ...new Array(3).fill(async () => {
      if (created.length > 0)
        await ask(
          'PATCH',
          created[any(created.length)]!,
          JSON_TYPE,
          `{"price":${any(1000)},"x":"${'a'.repeat(any(5000))}"}`,
        );
    }),
    async () => {
      if (created.length > MAX_RECORDS) await ask('DELETE', created.shift()!);
    },
    () => ask('GET', '/nothing'),
    () => ask('GET', `/users/${any(1e9)}`),
    () => ask('POST', '/users', JSON_TYPE, '{"name":'),
    () => ask('POST', '/users', JSON_TYPE, '{"email":"no address","name":""}'),
    () => ask('POST', '/items', JSON_TYPE, `{"name":"${'a'.repeat(1_100_000)}"}`),
    () => ask('POST', '/items', { 'content-type': 'text/plain' }, 'a'),
    () => ask('GET', bench.path, { accept: 'text/html' }),
    () => ask('GET', bench.path, { 'x-request-id': `soak-${unique++}`, accept: 'image/png' }),
    () => abort(`GET /users HTTP/1.1\r\nHost: localhost\r\n\r\n`, 100_000),
    () =>
      abort(
        'POST /users HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
        0,
      ),
    () => abort('GET /items?page=1 HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20), 1),
    () => abort('\x16\x03\x01 this is no HTTP\r\n\r\n', 1),
  ];
  for (let count = Math.floor(from); performance.now() < end; count++) {
    if (count % LIST_EVERY === LIST_EVERY - 1) await ask('GET', '/users');
    await acts[any(acts.length)]!();
  }
}

async function create(): Promise<void> {
  const body = `{"name":"soak ${unique++}","price":1}`;
  const key = { 'content-type': 'application/json', 'idempotency-key': `soak-${process.pid}-${unique}` };
  const headers = unique % 4 ? { 'content-type': 'application/json' } : key;
  // One client too many deletes too little: as many as come are deleted again.
  if (created.length > 2 * MAX_RECORDS) return ask('DELETE', created.shift()!);
  await ask('POST', '/items', headers, body);
}

function ask(
  method: string,
  path: string,
  headers: http.OutgoingHttpHeaders = {},
  body?: string,
): Promise<void> {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const done = (what: string) => {
      statuses.set(what, (statuses.get(what) ?? 0) + 1);
      resolve();
    };
    const request = http.request(
      bench.url + path,
      { method, agent, headers: { ...headers, ...length } },
      (response) => {
        if (response.statusCode === 201 && response.headers.location) created.push(response.headers.location);
        // A long body that is refused is not waited for, and its connection may end before it is sent.
        response.on('end', () => done(`${method} ${response.statusCode}`)).on('error', () => done('cut off'));
        response.resume();
      },
    );
    request.on('error', () => done('broken'));
    request.end(body);
  });
}

/** Sends bytes and leaves when so many bytes of the response have come. */
function abort(bytes: string, after: number): Promise<void> {
  const { hostname, port } = new URL(bench.url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.write(bytes, 'latin1', () => after === 0 && socket.resetAndDestroy());
    });
    let came = 0;
    socket.on('data', (chunk: Buffer) => {
      came += chunk.length;
      if (came >= after) socket.destroy();
    });
    socket
      .on('error', () => undefined)
      .on('close', () => {
        statuses.set('left', (statuses.get('left') ?? 0) + 1);
        resolve();
      });
  });
}
