import http from 'node:http';
import { pause, stopwatch } from '../support/pause.js';
import { type ServiceResponse, send } from '../support/service.js';
import type { Test } from '../support/test.js';

/** The responses that clients got, to be compared with the records that are there. */
export interface Ledger {
  /** How often each status came; 0 stands for a request that got no response. */
  readonly statuses: Map<number, number>;
  /** The longest that a response took, in milliseconds, to be printed. */
  slowestMs: number;
  /** How many of the requests that were in flight at the call are so now. */
  inFlight(): () => number;
  /** Responses that no client should ever see, each kind once. */
  readonly faults: Set<string>;
  /** Ends the load; resolves when every client is done. */
  stop(): Promise<void>;
  /** Records that are missing, there twice, or there and never requested; each a line. */
  compare(): Promise<string[]>;
}

const CLIENTS = 16;
const RECORDS = 4;
/** The pause of a client before it tries again; shorter than Retry-After says, so that nothing is missed. */
const AGAIN_MS = 100;
/** The pause of a client before its next request: their number matters less than that there always are some. */
const PACE_MS = 150;

/** The outcome of one value that a client has sent. */
type Outcome = 'confirmed' | 'unknown';

/**
 * Clients that write all the time through persistent connections, each value once: creations, creations with an
 * Idempotency-Key that are sent again until a response comes, and JSON Patches that append under If-Match.
 */
export async function startLedger(
  t: Test,
  base: string,
  mayRefuse: readonly number[] = [503],
): Promise<Ledger> {
  const agent = new http.Agent({ keepAlive: true });
  const created = new Map<string, Outcome>();
  const appended = new Map<string, Outcome>();
  const records: string[] = [];
  for (let n = 0; n < RECORDS; n++) {
    const made = await send(base, 'POST', '/items', { body: { name: `record ${n}`, marks: [] } });
    records.push(`/items/${made.json.id}`);
  }
  const inFlight = new Set<() => number>();
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
    inFlight: () => {
      const then = [...inFlight];
      return () => then.filter((each) => inFlight.has(each)).length;
    },
    faults: new Set(),
    stop: async () => {
      stopped = true;
      await Promise.all(clients);
      agent.destroy();
    },
    compare: () => compare(base, records, created, appended),
  };

  /** One request; whatever is no success must be one of the responses that are allowed. */
  async function ask(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: unknown,
  ): Promise<RequestContext | undefined> {
    const elapsed = stopwatch();
    inFlight.add(elapsed);
    const response = await request(agent, base, method, path, headers, body).catch((error: Error) => {
      ledger.faults.add(`${method}: ${error.message}`);
      return undefined;
    });
    inFlight.delete(elapsed);
    const status = response?.status ?? 0;
    ledger.statuses.set(status, (ledger.statuses.get(status) ?? 0) + 1);
    ledger.slowestMs = Math.max(ledger.slowestMs, elapsed());
    if (!response) return undefined;
    if (mayRefuse.includes(status)) {
      if (!response.retryAfter) ledger.faults.add(`${method}: ${status} without Retry-After`);
      await pause(AGAIN_MS);
    } else if (![200, 201, 409, 412].includes(status))
      ledger.faults.add(`${method}: ${status} ${response.text}`);
    return response;
  }

  async function create(name: string): Promise<void> {
    created.set(name, 'unknown');
    const response = await ask('POST', '/items', {}, { name });
    if (response?.status === 201) created.set(name, 'confirmed');
  }

  async function createUntilConfirmed(name: string): Promise<void> {
    created.set(name, 'unknown');
    while (!abandoned) {
      const response = await ask('POST', '/items', { 'idempotency-key': `"${name}"` }, { name });
      if (response?.status === 201) return void created.set(name, 'confirmed');
      const again = !response || response.status === 409 || mayRefuse.includes(response.status);
      if (!again) return;
      await pause(AGAIN_MS);
    }
  }

  async function append(path: string, mark: string): Promise<void> {
    const found = await ask('GET', path);
    if (found?.status !== 200) return;
    const patch = [{ op: 'add', path: '/marks/-', value: mark }];
    const headers = { 'if-match': found.etag, 'content-type': 'application/json-patch+json' };
    appended.set(mark, 'unknown');
    const response = await ask('PATCH', path, headers, patch);
    if (response?.status === 200) appended.set(mark, 'confirmed');
    else if (response?.status === 412) appended.delete(mark);
  }

  async function client(at: number): Promise<void> {
    for (let n = 0; !stopped; n++) {
      if (at % 4 === 0) await append(records[(at / 4) % RECORDS]!, `${at}-${n}`);
      else if (at % 4 === 1) await createUntilConfirmed(`keyed ${at}-${n}`);
      else await create(`plain ${at}-${n}`);
      await pause(PACE_MS);
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
    const outgoing = http.request(`${base}${path}`, { method, agent, headers: fields }, (response) => {
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
    outgoing.on('error', reject);
    outgoing.end(bytes);
  });
}

async function compare(
  base: string,
  records: readonly string[],
  created: ReadonlyMap<string, Outcome>,
  appended: ReadonlyMap<string, Outcome>,
): Promise<string[]> {
  const all = await send(base, 'GET', '/items?sort=created_at');
  if (all.status !== 200) return [`GET /items: ${all.status}`];
  const names = (all.json as { name: string }[]).map(({ name }) => name);
  const read: ServiceResponse[] = [];
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

function differences(
  what: string,
  there: readonly string[],
  outcomes: ReadonlyMap<string, Outcome>,
): string[] {
  const counts = new Map<string, number>();
  for (const value of there) counts.set(value, (counts.get(value) ?? 0) + 1);
  const found: string[] = [];
  for (const [value, count] of counts) {
    if (count > 1) found.push(`${what} ${value} is there ${count} times`);
    if (!outcomes.has(value)) found.push(`${what} ${value} is there and was refused, or never sent`);
  }
  for (const [value, outcome] of outcomes)
    if (outcome === 'confirmed' && !counts.has(value))
      found.push(`${what} ${value} was confirmed and is not there`);
  return found;
}
