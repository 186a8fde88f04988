import { pause } from '../support/pause.js';
import { type ServiceResponse, send } from '../support/service.js';
import type { Test } from '../support/test.js';
import { until } from '../support/until.js';

const CLIENTS = 8;
/** The pause of a client before it repeats a request, in milliseconds. */
const AGAIN_MS = 20;
/** The pause of a client before its next records, which leaves processor time to the upgrade. */
const PACE_MS = 200;
const TYPES = 'users.*,items.*';

/** Clients of several services, and a reader of the feed, that go on while these services come and go. */
export interface UpgradeLoad {
  /** The services, to be changed by the test. */
  readonly bases: string[];
  /** Paths of records whose creation was acknowledged. */
  readonly items: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  /** Ids of the events that the reader has got. */
  readonly read: readonly string[];
  /** How often each status came; 0: no response. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Responses that no client should see. */
  readonly faults: ReadonlySet<string>;
  /** How often a service did not know a cursor of another one. */
  readonly unknownCursors: () => number;
  /** Acknowledged requests that were sent again with their key to any service. */
  readonly repeats: () => number;
  /** Resolves after so many further responses. */
  goesOn(responses: number): Promise<void>;
  stop(): Promise<void>;
  /** Lets the reader read to the end. */
  readRest(base: string): Promise<void>;
}

/** Each write has an Idempotency-Key, and is sent to one service after the other until it succeeds. */
export function startUpgradeLoad(t: Test, initial: readonly string[]): UpgradeLoad {
  const bases = [...initial];
  const [items, users, faults] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const statuses = new Map<number, number>();
  const read: string[] = [];
  let [stopped, abandoned, responses, repeats, next, unknownCursors] = [false, false, 0, 0, 0, 0];
  let cursor: string | undefined;

  const attempt = async (method: string, path: string, key: string, body?: unknown) => {
    const headers = key === '' ? {} : { 'idempotency-key': `"${key}"` };
    const base = bases[next++ % bases.length]!;
    const response = await send(base, method, path, { headers, body }).catch(() => undefined);
    const status = response?.status ?? 0;
    responses++;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const mayRepeat = [0, 503].includes(status) || response?.json?.error?.code === 'IDEMPOTENCY_KEY_IN_USE';
    if (status >= 300 && !mayRepeat) faults.add(`${method} ${path}: ${status} ${response!.text}`);
    return status >= 200 && status < 300 ? response : undefined;
  };
  const write = async (
    method: string,
    path: string,
    key: string,
    body: unknown,
  ): Promise<ServiceResponse> => {
    for (;;) {
      const response = await attempt(method, path, key, body);
      if (response) return response;
      if (abandoned || faults.size > 0) throw new Error([...faults].join('\n'));
      await pause(AGAIN_MS);
    }
  };
  /** Creates a record, and sends the same again, often to another version. */
  const create = async (path: string, key: string, body: unknown): Promise<string> => {
    const { json } = await write('POST', path, key, body);
    const again = await write('POST', path, key, body);
    repeats++;
    if (again.json.id !== json.id) faults.add(`${key}: ${json.id} and ${again.json.id}`);
    return `${path}/${json.id}`;
  };
  const client = async (at: number): Promise<void> => {
    for (let n = 0; !stopped; n++) {
      const name = `${at}-${n}`;
      const item = await create('/items', `item-${name}`, { name });
      items.add(item);
      await write('PATCH', item, `patch-${name}`, { price: n });
      users.add(await create('/users', `user-${name}`, { email: `${name}@example.org`, name }));
      await pause(PACE_MS);
    }
  };
  const readOnce = async (base: string): Promise<boolean> => {
    const query = `types=${TYPES}&limit=1000${cursor === undefined ? '' : `&after=${cursor}`}`;
    const response = await send(base, 'GET', `/events?${query}`).catch(() => undefined);
    if (!response || response.status === 503) return true;
    if (response.json.error?.code === 'INVALID_CURSOR') {
      unknownCursors++;
      return true;
    }
    if (response.status !== 200) faults.add(`events: ${response.status} ${response.text}`);
    else {
      read.push(...response.json.data.map(({ id }: { id: string }) => id));
      cursor = response.json.meta.cursor;
    }
    return response.json.meta?.more === true;
  };
  const reader = async (): Promise<void> => {
    for (let n = 0; !stopped; n++) {
      await readOnce(bases[n % bases.length]!);
      await pause(AGAIN_MS);
    }
  };
  const running = [reader(), ...Array.from({ length: CLIENTS }, (_, at) => client(at))];
  const all = Promise.all(running);
  // A fault is reported where the load is awaited.
  all.catch(() => undefined);
  t.teardown(() => {
    stopped = true;
    abandoned = true;
  });
  return {
    bases,
    items,
    users,
    read,
    statuses,
    faults,
    repeats: () => repeats,
    unknownCursors: () => unknownCursors,
    goesOn: async (more) => {
      const end = responses + more;
      await until(
        'the load goes on',
        () => {
          if (abandoned || faults.size > 0) throw new Error([...faults].join('\n'));
          return responses;
        },
        (seen) => seen >= end,
      );
    },
    stop: async () => {
      stopped = true;
      await all;
    },
    readRest: async (base) => {
      while (await readOnce(base));
    },
  };
}
