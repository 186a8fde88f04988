import { readFileSync } from 'node:fs';
import type postgres from 'postgres';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { loadFixed } from '../harness/fixed-load.js';
import { cpuOfFamily } from '../harness/proc.js';
import type { Stage } from '../harness/stage.js';
import { median } from '../harness/stats.js';
import type { Operation, Table } from './operations.js';

/** A service on a database of its own, with so many items. */
export interface Site {
  readonly table: Table;
  readonly service: Contestant;
  readonly databaseUrl: string;
  readonly sql: postgres.Sql;
  close(): Promise<void>;
}

/** The cost of a request: microseconds of CPU time, and bytes of WAL. */
export interface Spent {
  readonly nodeUs: number;
  readonly pgUs: number;
  /** WAL without page images, and the images: a page is written whole when it changes first after a checkpoint. */
  readonly walBytes: number;
  readonly imageBytes: number;
}

/** CPU seconds a second without requests. */
export interface Idle {
  readonly node: number;
  readonly pg: number;
}

/** How the model is measured. */
export interface Wanted {
  /** The largest number of rows that it is fitted to. */
  readonly max: number;
  readonly rounds: number;
  readonly log: (line: string) => void;
}

/** A measurement that has begun. */
export interface Run extends Wanted {
  readonly stage: Stage;
  readonly idle: Idle;
}

const IDS = 50_000;
/** The largest searches take seconds, which is measured here and not refused. */
const PATIENT = { QUERY_TIMEOUT_MS: '60000', DB_TIMEOUT_MS: '60000' };

export async function openSite(
  stage: Stage,
  rows: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Site> {
  const databaseUrl = await stage.make({ users: 10, items: rows }, `model_${rows}`);
  await stage.settle(databaseUrl);
  return joinSite(databaseUrl, rows, settings);
}

/** Another service on a database that is filled. */
export async function joinSite(
  databaseUrl: string,
  rows: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Site> {
  const sql = openSql(databaseUrl, { max: 1, onnotice: () => undefined });
  await sql`create extension if not exists pg_walinspect`;
  const percent = Math.min(100, (200 * IDS) / rows);
  const sample = await sql<{ id: string }[]>`
    select id from items tablesample bernoulli (${percent}::real) limit ${IDS}::integer`;
  const service = await startContestant('plinth', databaseUrl, { ...PATIENT, ...settings });
  return {
    table: { rows, ids: sample.map(({ id }) => id), created: [] },
    service,
    databaseUrl,
    sql,
    close: async () => {
      await service.stop();
      await sql.end();
    },
  };
}

/** Sends requests of one operation, and measures what one costs. `part`: of the usual number of requests. */
export async function spend(
  stage: Stage,
  site: Site,
  { next, count, writes }: Pick<Operation, 'next' | 'count' | 'writes'>,
  connections: number,
  idle: Idle,
  part = 1,
): Promise<Spent> {
  const { service, table, sql } = site;
  const requests = Array.from({ length: Math.ceil(count(table.rows) * part) }, () => next(table));
  await stage.calm();
  const from = writes ? await lsnOf(sql) : '';
  const before = [cpuOfFamily(service.pid)!, cpuOfFamily(stage.pid)!] as const;
  const since = performance.now();
  const responses = await loadFixed(service.url, requests, connections);
  const seconds = (performance.now() - since) / 1000;
  const after = [cpuOfFamily(service.pid)!, cpuOfFamily(stage.pid)!] as const;
  for (const { status, location } of responses)
    if (status === 201 && location !== undefined) table.created.push(location);
  const each = (cpu: number) => (Math.max(0, cpu) * 1e6) / requests.length;
  const wal = writes ? await walSince(sql, from) : { records: 0, images: 0 };
  return {
    nodeUs: each(after[0] - before[0] - idle.node * seconds),
    pgUs: each(after[1] - before[1] - idle.pg * seconds),
    walBytes: wal.records / requests.length,
    imageBytes: wal.images / requests.length,
  };
}

export function medianOf(rounds: readonly Spent[]): Spent {
  const of = (name: keyof Spent) => median(rounds.map((round) => round[name]));
  return {
    nodeUs: of('nodeUs'),
    pgUs: of('pgUs'),
    walBytes: of('walBytes'),
    imageBytes: of('imageBytes'),
  };
}

async function lsnOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<{ lsn: string }[]>`select pg_current_wal_flush_lsn()::text as lsn`;
  return row!.lsn;
}

async function walSince(sql: postgres.Sql, from: string): Promise<{ records: number; images: number }> {
  const [row] = await sql<{ records: number; images: number }[]>`
    select coalesce(sum(record_size), 0)::float8 as records, coalesce(sum(fpi_size), 0)::float8 as images
    from pg_get_wal_stats(${from}::pg_lsn, pg_current_wal_flush_lsn())`;
  return row!;
}

/** KiB of memory of its own that a session of the service has, by the median. */
export async function sessionMemory({ sql }: Site): Promise<number> {
  const sessions = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend'`;
  const anonymous = (pid: number) =>
    Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  return median(sessions.map(({ pid }) => anonymous(pid)));
}
