import type postgres from 'postgres';
import { startContestant } from '../harness/contestant.js';
import { holdConnections } from '../harness/idle.js';
import { memoryOf } from '../harness/proc.js';
import type { Bytes } from './constants.js';
import { type Site, sessionMemory } from './site.js';

const HELD = 4000;
const KIB = 1024;

/** The bytes that the records of each table take, and the row-count buckets. */
export async function bytesOf(
  sites: readonly Site[],
): Promise<Pick<Bytes, 'heap' | 'indexes' | 'index' | 'buckets'>> {
  const all = await Promise.all(sites.map(({ sql, table }) => sizesOf(sql, table.rows)));
  const largest = all.reduce((best, each) => (each.rows > best.rows ? each : best));
  const by = (name: 'heap' | 'indexes' | 'buckets') =>
    Object.fromEntries(all.map((each) => [each.rows, each[name]]));
  return { heap: by('heap'), indexes: by('indexes'), buckets: by('buckets'), index: largest.index };
}

async function sizesOf(sql: postgres.Sql, rows: number) {
  const [size] = await sql<{ heap: number; indexes: number; buckets: number }[]>`
    select pg_table_size('items')::float8 as heap, pg_indexes_size('items')::float8 as indexes,
      (select pg_column_size(starts) + pg_column_size(before) from blocks where collection = 'items')::float8 as buckets`;
  const indexes = await sql<{ name: string; bytes: number }[]>`
    select indexrelid::regclass::text as name, pg_relation_size(indexrelid)::float8 as bytes
    from pg_index where indrelid = 'items'::regclass`;
  const { heap, indexes: total, buckets } = size!;
  return {
    rows,
    heap: heap / rows,
    indexes: total / rows,
    buckets,
    index: Object.fromEntries(indexes.map(({ name, bytes }) => [name, bytes / rows])),
  };
}

/** Bytes of a stored event, after what the measurement wrote. */
export async function eventBytes({ sql }: Site): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select (select sum(pg_total_relation_size(relid)) from pg_partition_tree('events'))::float8 / count(*) as bytes
    from events`;
  return row!.bytes;
}

/** Memory of sessions of the largest table, and of a service that has idle connections. */
export async function memoryOfSites(
  largest: Site,
  { databaseUrl, table }: Site,
): Promise<Pick<Bytes, 'process' | 'connection' | 'session'>> {
  const session = await sessionMemory(largest);
  const fresh = await startContestant('plinth', databaseUrl);
  try {
    const url = new URL(`${fresh.url}/items/${table.ids[0]}`);
    const warm = await holdConnections(url, 200);
    warm();
    const idle = memoryOf(fresh.pid)!.resident;
    const release = await holdConnections(url, HELD);
    const held = memoryOf(fresh.pid)!.resident;
    release();
    return { session: session * KIB, process: idle * KIB, connection: ((held - idle) * KIB) / HELD };
  } finally {
    await fresh.stop();
  }
}
