import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { type Answer, send } from '../support/service.js';

/** What clients were told, to be compared with what is there. */
export interface Ledger {
  /** How often each status was answered; 0 stands for a request that got no answer. */
  readonly statuses: Map<number, number>;
  /** The longest that an answer took, in milliseconds. */
  slowestMs: number;
  /** What no client should ever see, each kind once. */
  readonly faults: Set<string>;
  /** Ends the load; resolves when every client is done. */
  stop(): Promise<void>;
  /** What is missing, there twice, or there and never asked for; each a line. */
  compare(): Promise<string[]>;
}

const CLIENTS = 16;
const RECORDS = 4;
/** What a client waits before it tries again; shorter than Retry-After says, so that nothing is missed. */
const AGAIN_MS = 20;

/** What became of one value that a client has sent. */
type Told = 'answered' | 'unknown';

/**
 * Clients that write all the time through kept connections, each value once: creations, creations with an
 * Idempotency-Key that are sent again until an answer comes, and JSON Patches that append under If-Match.
 */
export async function startLedger(
  t: Test,
  base: string,
  mayRefuse: readonly number[] = [503],
): Promise<Ledger> {
  const agent = new http.Agent({ keepAlive: true });
  const created = new Map<string, Told>();
  const appended = new Map<string, Told>();
  const records: string[] = [];
  for (let n = 0; n < RECORDS; n++) {
    const made = await send(base, 'POST', '/items', { body: { name: `record ${n}`, marks: [] } });
    records.push(`/items/${made.json.id}`);
  }
  let stopped = false;
  let abandoned = false;
  t.teardown(() => {
    stopped = true;
    abandoned = true;
    agent.destroy();
  });
  const ledger: Ledger = {
    statuses: new Map(),
    slowestMs: 0,
    faults: new Set(),
    stop: async () => {
      stopped = true;
      await Promise.all(clients);
      agent.destroy();
    },
    compare: () => compare(base, records, created, appended),
  };

  /** One request; whatever is no success has to be one of the answers that are allowed. */
  async function ask(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: unknown,
  ): Promise<RequestContext | undefined> {
    const began = performance.now();
    const answer = await request(agent, base, method, path, headers, body).catch((error: Error) => {
      ledger.faults.add(`${method}: ${error.message}`);
      return undefined;
    });
    const status = answer?.status ?? 0;
    ledger.statuses.set(status, (ledger.statuses.get(status) ?? 0) + 1);
    ledger.slowestMs = Math.max(ledger.slowestMs, performance.now() - began);
    if (!answer) return undefined;
    if (mayRefuse.includes(status)) {
      if (!answer.retryAfter) ledger.faults.add(`${method}: ${status} without Retry-After`);
      await sleep(AGAIN_MS);
    } else if (![200, 201, 409, 412].includes(status))
      ledger.faults.add(`${method}: ${status} ${answer.text}`);
    return answer;
  }

  async function create(name: string): Promise<void> {
    created.set(name, 'unknown');
    const answer = await ask('POST', '/items', {}, { name });
    if (answer?.status === 201) created.set(name, 'answered');
  }

  async function createUntilAnswered(name: string): Promise<void> {
    created.set(name, 'unknown');
    while (!abandoned) {
      const answer = await ask('POST', '/items', { 'idempotency-key': `"${name}"` }, { name });
      if (answer?.status === 201) return void created.set(name, 'answered');
      const again = !answer || answer.status === 409 || mayRefuse.includes(answer.status);
      if (!again) return;
      await sleep(AGAIN_MS);
    }
  }

  async function append(path: string, mark: string): Promise<void> {
    const found = await ask('GET', path);
    if (found?.status !== 200) return;
    const patch = [{ op: 'add', path: '/marks/-', value: mark }];
    const headers = { 'if-match': found.etag, 'content-type': 'application/json-patch+json' };
    appended.set(mark, 'unknown');
    const answer = await ask('PATCH', path, headers, patch);
    if (answer?.status === 200) appended.set(mark, 'answered');
    else if (answer?.status === 412) appended.delete(mark);
  }

  async function client(at: number): Promise<void> {
    for (let n = 0; !stopped; n++) {
      if (at % 4 === 0) await append(records[(at / 4) % RECORDS]!, `${at}-${n}`);
      else if (at % 4 === 1) await createUntilAnswered(`keyed ${at}-${n}`);
      else await create(`plain ${at}-${n}`);
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, at) => client(at));
  return ledger;
}

interface RequestContext {
  readonly status: number;
  readonly etag: string;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

function request(
  agent: http.Agent,
  base: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<RequestContext> {
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const length = bytes === undefined ? {} : { 'content-length': String(Buffer.byteLength(bytes)) };
  const fields = {
    ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
    ...length,
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const asked = http.request(`${base}${path}`, { method, agent, headers: fields }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      response.on('error', reject);
      response.on('end', () => {
        const { etag = '', 'retry-after': retryAfter } = response.headers;
        resolve({ status: response.statusCode!, etag, retryAfter, text });
      });
    });
    asked.on('error', reject);
    asked.end(bytes);
  });
}

async function compare(
  base: string,
  records: readonly string[],
  created: ReadonlyMap<string, Told>,
  appended: ReadonlyMap<string, Told>,
): Promise<string[]> {
  const all = await send(base, 'GET', '/items?sort=created_at');
  if (all.status !== 200) return [`GET /items: ${all.status}`];
  const names = (all.json as { name: string }[]).map(({ name }) => name);
  const read: Answer[] = [];
  for (const record of records) read.push(await send(base, 'GET', record));
  const marks = read.flatMap(({ json }) => json.marks as string[]);
  return [
    ...differences(
      'item',
      names.filter((name) => !name.startsWith('record ')),
      created,
    ),
    ...differences('mark', marks, appended),
  ];
}

function differences(what: string, there: readonly string[], told: ReadonlyMap<string, Told>): string[] {
  const counts = new Map<string, number>();
  for (const value of there) counts.set(value, (counts.get(value) ?? 0) + 1);
  const found: string[] = [];
  for (const [value, count] of counts) {
    if (count > 1) found.push(`${what} ${value} is there ${count} times`);
    if (!told.has(value)) found.push(`${what} ${value} is there and was refused, or never sent`);
  }
  for (const [value, outcome] of told)
    if (outcome === 'answered' && !counts.has(value))
      found.push(`${what} ${value} was answered and is not there`);
  return found;
}
