import { createHash } from 'node:crypto';
import postgres from 'postgres';
import { ExitError } from '../exit-error.js';
import type { Run } from './db.js';
import { listMigrations, readSql } from './sql-files.js';

/** A database that the service cannot use, told in one line. */
export class DatabaseError extends ExitError {}

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

/** An advisory lock key of ours: "plnt" and 1. */
const LOCK = [0x706c6e74, 1];
const OLDEST = 150_000;

/**
 * Brings the schema up to date: each file of sql/migrations once, in order, each in its own transaction,
 * under an advisory lock so that services that start together take turns. Throws DatabaseError when the
 * database is away or too old, when a migration cannot be applied, or when one that was has since been changed.
 */
export async function migrate(url: string, timeoutMs: number): Promise<void> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: Math.max(1, Math.ceil(timeoutMs / 1000)),
    onnotice: () => undefined,
    fetch_types: false,
    connection: { application_name: 'plinth migrate' },
  });
  try {
    await requireVersion(sql);
    await sql`select pg_advisory_lock(${LOCK[0]!}::integer, ${LOCK[1]!}::integer)`;
    await applyMissing(sql);
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseError(`the schema cannot be brought up to date: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * Whether a database has every step as this version knows it: one question, where `migrate` opens a connection and asks
 * five. False also when it cannot be told, for `migrate` to find out why.
 */
export async function isMigrated(run: Run): Promise<boolean> {
  try {
    const [row] = await run(
      `select current_setting('server_version_num')::integer as version,
        (select string_agg(name || checksum, ' ') from migrations) as applied`,
      [],
    );
    const applied = new Set(String(row!.applied).split(' '));
    const known = readMigrations().map(({ name, checksum }) => name + checksum);
    return (row!.version as number) >= OLDEST && known.every((step) => applied.has(step));
  } catch {
    return false;
  }
}

async function requireVersion(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<
    { version: string }[]
  >`select current_setting('server_version_num') as version`.catch((error: Error) => {
    throw new DatabaseError(
      `the database cannot be reached: ${error.message || (error as { code?: string }).code}`,
    );
  });
  const version = Number(row?.version);
  if (version < OLDEST) {
    throw new DatabaseError(`PostgreSQL ${Math.floor(version / 10_000)} is too old: 15 or newer is needed`);
  }
}

async function applyMissing(sql: postgres.Sql): Promise<void> {
  await sql`create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
  const applied = new Map(
    (await sql<{ name: string; checksum: string }[]>`select name, checksum from migrations`).map((row) => [
      row.name,
      row.checksum,
    ]),
  );
  for (const { name, text, checksum } of readMigrations()) {
    const before = applied.get(name);
    if (before !== undefined && before !== checksum) {
      throw new DatabaseError(`migration ${name} was changed after it had been applied to this database`);
    }
    if (before !== undefined) continue;
    await sql.begin(async (tx) => {
      await tx.unsafe(text).catch((error: Error) => {
        throw new DatabaseError(`migration ${name} cannot be applied: ${error.message}`, { cause: error });
      });
      await tx`insert into migrations (name, checksum) values (${name}, ${checksum})`;
    });
  }
}

/** The name of the last step that this version knows. */
export function newestMigration(): string {
  return readMigrations().at(-1)!.name;
}

function readMigrations(): Migration[] {
  return listMigrations()
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => {
      const text = readSql(`migrations/${name}`);
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    });
}
