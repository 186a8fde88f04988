import http from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * 200 clients that each do what costs the service most, until a time is over: `node dist/bench/hostile-clients.js <JSON>`,
 * as bench/hostile-memory.ts starts it. Prints how often each kind got each status.
 */
export interface HostileLoad {
  readonly url: string;
  readonly seconds: number;
  readonly clients: number;
  /** Ids of a user with large posts, of an item with nested arrays, and of one with a long text. */
  readonly user: string;
  readonly nested: string;
  readonly long: string;
}

const load = JSON.parse(process.argv[2]!) as HostileLoad;
const { url, user, nested, long } = load;
const end = Date.now() + load.seconds * 1000;
const { hostname, port, host } = new URL(url);
const JSON_TYPE = 'application/json';
const MIB = 1_048_000;
/** How long a client that reads nothing stays connected. */
const DEAF_MS = 3000;

const objects = `{"name":"x","a":[${'{},'.repeat(MIB / 3 - 10)}{}]}`;
const arrays = `{"name":"x","a":[${'[],'.repeat(MIB / 3 - 10)}[]]}`;
const keys = `{"name":"x",${Array.from({ length: 90_000 }, (_, n) => `"k${n}":1`).join(',')}}`;
const inserts = JSON.stringify(
  Array.from({ length: 10_000 }, () => ({ op: 'add', path: '/deep/0', value: 0 })),
);
const batchOf = (count: number, operation: object) => JSON.stringify(new Array(count).fill(operation));
const page = `/users/${user}/posts?page=1&limit=100`;
const html = { accept: 'text/html' };

type Kind = (client: number) => Promise<string>;

const kinds: Readonly<Record<string, Kind>> = {
  'batch of HTML': () =>
    send('POST', '/batch', batchOf(100, { method: 'GET', path: `/items/${nested}`, headers: html })),
  'batch of pages': () => send('POST', '/batch', batchOf(60, { method: 'GET', path: page })),
  'batch of records': () => send('POST', '/batch', batchOf(100, { method: 'GET', path: `/items/${long}` })),
  'batch of patches': () =>
    send(
      'POST',
      '/batch',
      batchOf(100, { method: 'PATCH', path: `/items/${long}`, body: { price: 1 } }),
      JSON_TYPE,
      { 'Idempotency-Key': `k${Math.random()}` },
    ),
  'deaf page': () => deaf(page),
  'deaf record': () => deaf(`/items/${long}`),
  'deaf pipeline': () => deaf(`/items/${nested}`, 50),
  'deaf list': () => deaf('/posts'),
  'deaf stream': () => deaf('/events?after=00000000000', 1, 'text/event-stream'),
  record: () => send('GET', `/items/${nested}`),
  page: () => send('GET', page),
  'record as HTML': () => send('GET', `/items/${nested}`, undefined, JSON_TYPE, html),
  'record as CSV': () => send('GET', `/items/${nested}`, undefined, JSON_TYPE, { accept: 'text/csv' }),
  'page as HTML': () => send('GET', page, undefined, JSON_TYPE, html),
  'array of objects': () => send('POST', '/items', objects),
  'array of arrays': () => send('PUT', `/items/${long}`, arrays),
  'many keys': () => send('POST', '/items', keys),
  'broken body': () => send('POST', '/items', objects.slice(0, -2)),
  'merge patch': () => send('PATCH', `/items/${nested}`, '{"price":2}', 'application/merge-patch+json'),
  'JSON Patch': () => send('PATCH', `/items/${nested}`, inserts, 'application/json-patch+json'),
  events: () => send('GET', '/events?limit=1000'),
  search: (client) => send('GET', `/items?search=x${client % 7}`),
  'slow body': () => slowBody(),
};

const counts = new Map<string, number>();
const names = Object.keys(kinds);
await Promise.all(Array.from({ length: load.clients }, (_, client) => attack(client)));
for (const [key, count] of [...counts].sort()) process.stdout.write(`${key}: ${count}\n`);

async function attack(client: number): Promise<void> {
  const name = names[client % names.length]!;
  while (Date.now() < end) {
    const outcome = await kinds[name]!(client).catch((error: Error) => error.message);
    const key = `${name}: ${outcome}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    if (outcome === '503' || !/^\d/.test(outcome)) await sleep(100);
  }
}

/** One request on a connection of its own, its response read and dropped; gives the status. */
function send(method: string, path: string, body?: string, type = JSON_TYPE, headers = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const length =
      body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) };
    const options = { hostname, port, method, path, agent: false, headers: { ...length, ...headers } };
    const request = http.request(options, (response) => {
      response.resume();
      response.once('end', () => resolve(String(response.statusCode)));
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}

/** Sends requests and reads nothing. */
async function deaf(path: string, count = 1, accept = JSON_TYPE): Promise<string> {
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined).pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: ${accept}\r\n\r\n`.repeat(count));
  await sleep(Math.min(DEAF_MS, Math.max(0, end - Date.now())));
  socket.destroy();
  return 'nothing read';
}

/** Announces a body and sends it a few bytes at a time. */
async function slowBody(): Promise<string> {
  const socket = net.connect({ host: hostname, port: Number(port) });
  let text = '';
  socket
    .on('error', () => undefined)
    .on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
  socket.write(
    `POST /items HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${MIB}\r\n\r\n`,
  );
  while (!socket.destroyed && text === '' && Date.now() < end) {
    socket.write(' '.repeat(1000));
    await sleep(200);
  }
  socket.destroy();
  return text.slice(9, 12) || 'cut';
}
