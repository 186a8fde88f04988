import http from 'node:http';
import { pause, stopwatch } from '../support/pause.js';
import { send } from '../support/service.js';
import type { Test } from '../support/test.js';
import { times } from '../support/thorough.js';

/** The outcomes of the requests since the last report. */
export interface Report {
  readonly sent: number;
  /** 503, and requests without a response. */
  readonly failed: number;
  readonly unanswered: number;
  /** Requests that repeat an earlier one with its key. */
  readonly retried: number;
  /** The longest time without a confirmed write, in milliseconds. */
  readonly gapMs: number;
  /** From the last call of `mark` to the first confirmed write that was sent after it, in milliseconds. */
  readonly resumedMs: number | undefined;
  /** Requests without success that a client sent after `mark` and before its first with success; of the worst client. */
  readonly refusedAfter: number;
}

/** Clients that create items, each under an Idempotency-Key until the response is 201. */
export interface Writers {
  /** The names of items whose creation was confirmed. */
  readonly confirmed: ReadonlySet<string>;
  /** Responses that no client should get. */
  readonly faults: ReadonlySet<string>;
  /** Begins `resumedMs` and `refusedAfter`. */
  mark(): void;
  /** Reports and starts anew. Times are for print only. */
  report(): Report;
  stop(): Promise<void>;
}

export const CLIENTS = times(32, 64);
/** Each client pauses, so that the machine has time for the databases: failovers take minutes. */
const PAUSE_MS = 1500;
/** The pause of a client before it repeats a request. */
export const AGAIN_MS = 200;

interface Write {
  readonly sentAt: number;
  readonly confirmedAt: number;
}

/** Starts them, spread over the services at `bases`. */
export function startWriters(t: Test, bases: readonly string[]): Writers {
  const agent = new http.Agent({ keepAlive: true });
  const confirmed = new Set<string>();
  const faults = new Set<string>();
  let counts = { sent: 0, failed: 0, unanswered: 0, retried: 0 };
  let writes: Write[] = [];
  const now = stopwatch();
  let since = now();
  let markedAt: number | undefined;
  /** Of each client since the mark; absent: it had success. */
  let refused = new Map<number, number>();
  let worst = 0;
  let isStopped = false;

  async function create(base: string, name: string, at: number): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const sentAt = now();
      const sinceMark = refused;
      counts.sent++;
      if (attempt > 0) counts.retried++;
      const response = await post(agent, `${base}/items`, name);
      if (response?.status === 201) {
        confirmed.add(name);
        writes.push({ sentAt, confirmedAt: now() });
        worst = Math.max(worst, sinceMark.get(at) ?? 0);
        sinceMark.delete(at);
        return;
      }
      if (response === undefined) counts.unanswered++;
      else if (![409, 503].includes(response.status)) faults.add(`${response.status} ${response.text}`);
      counts.failed++;
      if (sinceMark.has(at)) sinceMark.set(at, sinceMark.get(at)! + 1);
      await pause(AGAIN_MS);
    }
  }

  async function client(at: number): Promise<void> {
    for (let n = 0; !isStopped; n++) {
      await create(bases[at % bases.length]!, `${at}-${n}`, at);
      await pause(PAUSE_MS);
    }
  }

  const clients = Array.from({ length: CLIENTS }, (_, at) => client(at));
  const stop = async (): Promise<void> => {
    isStopped = true;
    await Promise.all(clients);
    agent.destroy();
  };
  t.teardown(stop);
  return {
    confirmed,
    faults,
    mark: () => {
      markedAt = now();
      worst = 0;
      refused = new Map(clients.map((_, at) => [at, 0]));
    },
    report: () => {
      const end = now();
      const from = markedAt;
      const moments = [since, ...writes.map(({ confirmedAt }) => confirmedAt), end];
      const gaps = moments.slice(1).map((moment, at) => moment - moments[at]!);
      const resumed = from === undefined ? undefined : writes.find(({ sentAt }) => sentAt >= from);
      const report = {
        ...counts,
        gapMs: Math.round(Math.max(...gaps)),
        resumedMs: resumed && Math.round(resumed.confirmedAt - from!),
        refusedAfter: Math.max(worst, ...refused.values()),
      };
      counts = { sent: 0, failed: 0, unanswered: 0, retried: 0 };
      writes = [];
      since = end;
      markedAt = undefined;
      worst = 0;
      refused = new Map();
      return report;
    },
    stop,
  };
}

/** One creation; undefined: there was no response. */
function post(
  agent: http.Agent,
  url: string,
  name: string,
): Promise<{ status: number; text: string } | undefined> {
  const body = JSON.stringify({ name });
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'idempotency-key': `"${name}"`,
  };
  return new Promise((resolve) => {
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', () => resolve(undefined));
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    request.on('error', () => resolve(undefined));
    request.end(body);
  });
}

/** A client that follows the events of items from the beginning. */
export interface Follower {
  /** The names of created items, in the order of the events. */
  readonly names: readonly string[];
  /** How often its cursor was 410. */
  readonly gone: () => number;
  stop(): Promise<void>;
}

/** Starts it. A cursor that is gone ends it, since a client would have to read all records again. */
export function followEvents(t: Test, base: string): Follower {
  const names: string[] = [];
  let gone = 0;
  let isStopped = false;
  const follow = async (): Promise<void> => {
    let cursor: string | undefined;
    while (!isStopped && gone === 0) {
      const path = `/events?types=items.created&limit=1000${cursor === undefined ? '' : `&after=${cursor}`}`;
      const response = await send(base, 'GET', path).catch(() => undefined);
      if (response?.status === 410) gone++;
      if (response?.status === 200) {
        for (const { data } of response.json.data) names.push(data.name);
        cursor = response.json.meta.cursor;
      }
      await pause(AGAIN_MS);
    }
  };
  const following = follow();
  const stop = async (): Promise<void> => {
    isStopped = true;
    await following;
  };
  t.teardown(stop);
  return { names, gone: () => gone, stop };
}
