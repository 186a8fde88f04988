import { pause } from '../support/pause.js';
import { send } from '../support/service.js';
import { openSql, SCHEMA } from '../support/sql.js';

/** Clients that create, change and delete records until they are stopped. */
export interface Writers {
  /** Successful requests until now. */
  readonly done: () => number;
  /** Responses that are no success. */
  readonly failed: readonly string[];
  stop(): Promise<void>;
}

export const CLIENTS = 8;
/** The pause of a client before its next round, which leaves processor time to what the test does meanwhile. */
const PACE_MS = 400;

export function startWriters(base: string, prefix: string): Writers {
  let [done, stopped] = [0, false];
  const failed: string[] = [];
  const request = async (method: string, path: string, key: string, body?: unknown) => {
    const headers = method === 'POST' ? { 'idempotency-key': `"${prefix}-${key}"` } : {};
    const response = await send(base, method, path, { headers, body });
    if (response.status >= 300) failed.push(`${method} ${path}: ${response.status} ${response.text}`);
    else done++;
    return response.json;
  };
  const client = async (at: number): Promise<void> => {
    for (let n = 0; !stopped; n++) {
      const name = `${prefix}-${at}-${n}`;
      const user = await request('POST', '/users', `${name}-user`, { email: `${name}@example.org`, name });
      await request('POST', `/users/${user.id}/posts`, `${name}-post`, { title: name, body: 'text' });
      const item = await request('POST', '/items', `${name}-item`, { name, price: n });
      await request('PATCH', `/items/${item.id}`, '', { price: n + 0.5 });
      if ((n + at) % 3 === 0) await request('DELETE', `/users/${user.id}`, '');
      if ((n + at) % 5 === 0) await request('DELETE', `/items/${item.id}`, '');
      await pause(PACE_MS);
    }
  };
  const running = Array.from({ length: CLIENTS }, (_, at) => client(at));
  return {
    done: () => done,
    failed,
    stop: async () => {
      stopped = true;
      await Promise.all(running);
    },
  };
}

/** The rows of each table as text, sorted; of a snapshot of another session if one is named. */
export async function rowsOf(url: string, snapshot?: string): Promise<Map<string, string[]>> {
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  try {
    return await sql.begin('isolation level repeatable read read only', async (tx) => {
      if (snapshot !== undefined) await tx.unsafe(`set transaction snapshot '${snapshot}'`);
      const tables = await tx<{ name: string }[]>`
        select relname as name from pg_class
        where relnamespace in (select oid from pg_namespace where nspname in ('public', ${SCHEMA})) and relkind in ('r', 'p') and relpersistence = 'p' order by relname`;
      const rows = new Map<string, string[]>();
      for (const { name } of tables)
        rows.set(
          name,
          (await tx.unsafe(`select t::text as row from "${name}" as t`)).map(({ row }) => String(row)).sort(),
        );
      return rows;
    });
  } finally {
    await sql.end();
  }
}

export interface FeedEvent {
  readonly id: string;
  readonly sequence: string;
  readonly type: string;
  readonly subject: string;
}

/** The responses of the service to a reader of events after a cursor, until there are no more. */
export async function eventsAfter(
  base: string,
  after?: string,
): Promise<{ status: number; code: string | undefined; events: FeedEvent[]; cursor: string }> {
  const events: FeedEvent[] = [];
  let cursor = after;
  for (;;) {
    const query = cursor === undefined ? '' : `&after=${cursor}`;
    const { status, json } = await send(base, 'GET', `/events?limit=1000${query}`);
    if (status !== 200) return { status, code: json.error?.code, events, cursor: cursor ?? '' };
    events.push(...(json.data as FeedEvent[]));
    cursor = json.meta.cursor as string;
    if (!json.meta.more) return { status, code: undefined, events, cursor };
  }
}
