import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type postgres from 'postgres';
import { connect } from '../../src/db/db.js';
import { migrate } from '../../src/db/migrate.js';
import { collectionsSchema } from '../../src/db/open-database.js';
import { compact, uncompacted } from '../../src/db/row-counts.js';
import { SQL_DIR } from '../../src/db/sql-files.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { openSql } from '../../test/support/sql.js';
import { fill, fillPlain } from './data.js';

const DATA_DIR = fileURLToPath(new URL('../../../bench/.data', import.meta.url));

/**
 * The memory of the cluster is set alike for every contestant; all other settings are those with which the service starts
 * it, fsync and all. A quarter of the memory is what PostgreSQL's documentation recommends for shared_buffers (section
 * 19.4); in a container, of what that may have.
 */
const MEMORY = Math.min(totalmem(), process.constrainedMemory() || Infinity);
const SHARED_BUFFERS_MB = Math.floor(MEMORY / 4 / 1_048_576);
const SETTINGS = [`shared_buffers=${SHARED_BUFFERS_MB}MB`, 'max_wal_size=8GB', 'maintenance_work_mem=512MB'];

/** Plinth's schema, or the plain tables of the peers. */
export type Schema = 'plinth' | 'plain';

/** A database server with filled databases to run on. */
export interface Stage {
  /** The server's process, whose children are its sessions. */
  readonly pid: number;
  readonly version: string;
  /** Whether its shared memory is in huge pages: `on` or `off`. */
  readonly hugePages: string;
  /** Gives the URL of a fresh copy of a filled database; a template that is missing is made first. */
  copy(schema: Schema, size: Size, name: string): Promise<string>;
  /** Fills a database that is dropped at the end, without a template: half the disk for a size that is used once. */
  make(size: Size, name: string): Promise<string>;
  /** Brings a database into the state it is in when nothing has been written for a while. */
  settle(url: string): Promise<void>;
  /** Waits until no session works, so that what one contestant left does not slow the next. */
  calm(): Promise<void>;
  close(): Promise<void>;
}

export interface Size {
  readonly users: number;
  readonly items: number;
}

/** Starts the cluster in bench/.data; databases that were filled by other code than this are dropped. */
export async function openStage(log: (line: string) => void): Promise<Stage> {
  const embedded = await startEmbedded({ dataDir: DATA_DIR, settings: SETTINGS });
  const sql = openSql(embedded.url, { max: 1, onnotice: () => undefined });
  const at = (name: string) => embedded.url.replace(/\/postgres$/, `/${name}`);
  try {
    await dropStale(sql);
    const [row] = await sql<{ version: string; hugePages: string }[]>`
      select current_setting('server_version') as version, current_setting('huge_pages_status') as "hugePages"`;
    return {
      pid: Number(readFileSync(join(DATA_DIR, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]),
      version: row!.version,
      hugePages: row!.hugePages,
      copy: async (schema, size, name) => {
        const template = await makeTemplate(sql, at, schema, size, log);
        await sql.unsafe(`create database run_${name} template ${template} strategy file_copy`);
        return at(`run_${name}`);
      },
      make: async (size, name) => {
        await fillNew(sql, at, 'plinth', size, `run_${name}`, log);
        return at(`run_${name}`);
      },
      settle: async (url) => {
        const own = openSql(url, { max: 1, onnotice: () => undefined });
        await own.unsafe('vacuum analyze');
        await own.unsafe('checkpoint');
        await own.end();
      },
      calm: () => calm(sql),
      close: async () => {
        await dropRuns(sql).catch(() => undefined); // a contestant that hangs still uses its own; the next run drops it
        await sql.end();
        await embedded.stop();
      },
    };
  } catch (error) {
    await sql.end();
    await embedded.stop();
    throw error;
  }
}

async function makeTemplate(
  sql: postgres.Sql,
  at: (name: string) => string,
  schema: Schema,
  size: Size,
  log: (line: string) => void,
): Promise<string> {
  const name = `tpl_${schema}_${size.users}_${size.items}_${FINGERPRINT}`;
  if ((await databases(sql)).includes(name)) return name;
  // Filled under another name, so that one half filled is never taken for a whole one.
  const draft = `run_draft_${schema}`;
  await fillNew(sql, at, schema, size, draft, log);
  await sql.unsafe(`alter database ${draft} rename to ${name}`);
  return name;
}

async function fillNew(
  sql: postgres.Sql,
  at: (name: string) => string,
  schema: Schema,
  { users, items }: Size,
  name: string,
  log: (line: string) => void,
): Promise<void> {
  log(`filling ${users} users and ${items} items (${schema}) ...`);
  await sql.unsafe(`create database ${name}`);
  if (schema === 'plinth') {
    await migrate(at(name), 10_000);
    await fill(at(name), users, items);
    await addUp(at(name));
  } else await fillPlain(at(name), users, items);
}

/** Adds up what the triggers counted, as a service does by itself within seconds. */
export async function addUp(url: string): Promise<void> {
  const limits = {
    dbConnections: 1,
    dbSearches: 1,
    dbStreams: 1,
    queue: 10,
    dbTimeoutMs: 60_000,
    tombstones: false,
    events: false,
  };
  const db = connect(url, limits);
  try {
    const schema = await collectionsSchema(db.run);
    for (const collection of await uncompacted(db.run)) while (await compact(db, schema, collection));
  } finally {
    await db.close();
  }
}

async function databases(sql: postgres.Sql): Promise<string[]> {
  return (await sql<{ name: string }[]>`select datname as name from pg_database`).map(({ name }) => name);
}

/** Drops what earlier runs copied, and what other code or another schema filled. */
async function dropStale(sql: postgres.Sql): Promise<void> {
  await dropRuns(sql);
  for (const name of await databases(sql))
    if (name.startsWith('tpl_') && !name.endsWith(FINGERPRINT)) await sql.unsafe(`drop database ${name}`);
}

async function dropRuns(sql: postgres.Sql): Promise<void> {
  for (const name of await databases(sql))
    if (name.startsWith('run_')) await sql.unsafe(`drop database ${name} with (force)`);
}

const PATIENCE_MS = 60_000;

async function calm(sql: postgres.Sql): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const busy = await sql`select 1 from pg_stat_activity
      where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`;
    if (busy.length === 0) return;
    await sleep(20);
  }
}

/** Of all that decides what is in a filled database: the migrations, the code that fills, and the rules that it fills by. */
const FINGERPRINT = fingerprint();

function fingerprint(): string {
  const migrations = new URL('migrations/', SQL_DIR);
  const files = readdirSync(migrations)
    .sort()
    .map((name) => new URL(name, migrations));
  const code = ['./data.js', '../peers/tables.js'].map((path) => new URL(path, import.meta.url));
  const hash = createHash('sha256');
  for (const file of [...files, ...code]) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 8);
}
