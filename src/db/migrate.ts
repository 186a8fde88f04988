import type postgres from 'postgres';
import { ExitError } from '../errors/exit-error.js';
import type { Row, Run } from './db.js';
import type { Engine } from './engine.js';
import {
  DISTRIBUTION,
  isInPlace,
  lackingReplaced,
  migrationsOn,
  SCHEMA_NAMES,
  type SchemaNames,
  withSchemaNames,
} from './migrations.js';
import { collectionsSchemaOf } from './object-names.js';
import { takeTurn } from './schema-connection.js';
import { inTransaction, withSession } from './session.js';
import { TASK_SETTINGS } from './session-settings.js';

/** The database cannot be used as it is; the message is one line. */
export class DatabaseError extends ExitError {}

/** It cannot be reached, or its version is too old. */
export class DatabaseUnavailableError extends DatabaseError {
  override readonly exitCode = 69;
}

/** The key of an advisory lock: "plnt" and 1. */
const LOCK = [0x706c6e74, 1] as const;
export const MIN_VERSION = 150_000;

/**
 * Brings the schema up to date: applies each file of sql/migrations once, in order, each in a transaction. An advisory
 * lock serializes services that start together. Of a database that earlier versions made the baseline is only recorded.
 * Throws DatabaseError when the database is unavailable or too old, when a migration fails, or when an applied one has changed.
 */
export async function migrate(url: string, timeoutMs: number, engine: Engine = 'postgresql'): Promise<void> {
  let isOpen = false;
  const bringUpToDate = async (sql: postgres.Sql): Promise<void> => {
    isOpen = true;
    await requireVersion(sql);
    await takeTurn(async (text, args) => [...(await sql.unsafe<Row[]>(text, [...args]))], LOCK);
    if (engine === 'citus') await requireCluster(sql);
    const names = await nameCollectionsSchema(sql);
    await placeTrigrams(sql);
    await applyMissing(sql, engine, names);
  };
  try {
    await withSession(url, { settings: TASK_SETTINGS.migrate, connectMs: timeoutMs }, bringUpToDate);
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    if (!isOpen) throw new DatabaseUnavailableError(unreachable(error as Error), { cause: error });
    const { message } = error as Error;
    throw new DatabaseError(`the schema cannot be brought up to date: ${message}`, { cause: error });
  }
}

/**
 * Whether a database has all migrations of this version, in one query on an open connection. False also after an error,
 * which `migrate` then reports.
 */
export async function isMigrated(run: Run, engine: Engine = 'postgresql'): Promise<boolean> {
  try {
    const [row] = await run(
      `select current_setting('server_version_num')::integer as version,
        (select string_agg(name || checksum, ' ') from migrations) as applied`,
      [],
    );
    const applied = new Set(String(row!.applied).split(' '));
    const known = migrationsOn(engine).map(({ name, checksum }) => name + checksum);
    // A distributed database is refused by `migrate`.
    const isOther = engine === 'postgresql' && String(row!.applied).includes(DISTRIBUTION);
    return !isOther && (row!.version as number) >= MIN_VERSION && known.every((step) => applied.has(step));
  } catch {
    return false;
  }
}

/** Why a connection failed: codes of the class 28, a database that does not exist, or the network. */
export function unreachable({ code, message }: Error & { code?: string }): string {
  if (code?.startsWith('28'))
    return `the database rejects the login: ${message}; check the user and the password in DATABASE_URL`;
  if (code === '3D000') return `${message}: create it, or correct DATABASE_URL`;
  return `the database cannot be reached: ${message || code}`;
}

async function requireVersion(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<{ version: string }[]>`select current_setting('server_version_num') as version`;
  const version = Number(row?.version);
  if (version < MIN_VERSION)
    throw new DatabaseUnavailableError(
      `PostgreSQL ${Math.floor(version / 10_000)} is too old: 15 or newer is needed`,
    );
}

/** The schema that the tables of collections are to have. Throws DatabaseError in the schema of collections of another service. */
async function nameCollectionsSchema(sql: postgres.Sql): Promise<SchemaNames> {
  const [row] = await sql<{ schema: string | null; isOther: boolean; path: string }[]>`
    select current_schema() as schema, current_setting('search_path') as path, exists (
      select from pg_proc
      where proname = 'plinth_collections_schema' and prosrc = format('select %L::text', current_schema())
    ) as "isOther"`;
  const { schema, isOther, path } = row!;
  if (schema === null)
    throw new DatabaseError(
      `no schema of the search_path (${path}) exists for this role: create it, or set another search_path in DATABASE_URL`,
    );
  if (isOther)
    throw new DatabaseError(
      `the schema ${schema} has the tables of collections of another service: set another search_path in DATABASE_URL`,
    );
  const [names] = await sql.unsafe<[SchemaNames]>(SCHEMA_NAMES, [collectionsSchemaOf(schema)]);
  return names;
}

/**
 * A database has pg_trgm once. It is created in the schema `public`, if that is in the search_path, so that services in other
 * schemas find it too. Throws DatabaseError if it is where this service does not.
 */
async function placeTrigrams(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<{ schema: string | null; isHidden: boolean; isPublic: boolean }[]>`
    select nspname as schema, nspname <> all (current_schemas(true)) as "isHidden",
      'public' = any (current_schemas(false)) and has_schema_privilege(to_regnamespace('public'), 'create') as "isPublic"
    from (values (0)) as one
    left join pg_extension on extname = 'pg_trgm'
    left join pg_namespace on pg_namespace.oid = extnamespace`;
  const { schema, isHidden, isPublic } = row!;
  if (isHidden)
    throw new DatabaseError(
      `the extension pg_trgm is in the schema ${schema}, which is not in the search_path: add it there, or move the extension by "alter extension pg_trgm set schema"`,
    );
  if (schema === null && isPublic) await sql`create extension if not exists pg_trgm schema public`;
}

async function requireCluster(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<{ isCluster: boolean }[]>`
    select exists (select from pg_extension where extname = 'citus') as "isCluster"`;
  if (row?.isCluster) return;
  throw new DatabaseError(
    'DATABASE_ENGINE=citus needs a database with the extension citus that knows its nodes: docs/high-availability.md',
  );
}

/**
 * The work before this version runs: migrations to apply, applied ones whose files are others, and one that an
 * earlier version has to apply first.
 */
export async function pendingMigrations(
  run: Run,
  engine: Engine = 'postgresql',
): Promise<{ missing: string[]; changed: string[]; lacking: string | undefined }> {
  const rows = await run('select name, checksum from migrations', []);
  const applied = new Map(rows.map(({ name, checksum }) => [String(name), String(checksum)]));
  const known = migrationsOn(engine);
  const missing = known.filter(({ name }) => !applied.has(name));
  return {
    missing: missing.map(({ name }) => name),
    changed: known
      .filter(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum)
      .map(({ name }) => name),
    lacking: missing
      .map((migration) => lackingReplaced(migration, applied))
      .find((name) => name !== undefined),
  };
}

async function applyMissing(sql: postgres.Sql, engine: Engine, names: SchemaNames): Promise<void> {
  await sql`create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
  const rows = await sql<{ name: string; checksum: string }[]>`select name, checksum from migrations`;
  const applied = new Map(rows.map((row) => [row.name, row.checksum]));
  if (engine === 'postgresql' && applied.has(DISTRIBUTION))
    throw new DatabaseError('the records of this database are distributed: set DATABASE_ENGINE=citus');
  for (const migration of migrationsOn(engine)) {
    const { name, text, checksum } = migration;
    const before = applied.get(name);
    if (before === checksum) continue;
    if (before !== undefined)
      throw new DatabaseError(
        `migration ${name} was changed after it had been applied to this database: in production restore the file, and put the change into a new migration; in development delete the database (the folder data), which is then created anew`,
      );
    const lacking = lackingReplaced(migration, applied);
    if (lacking !== undefined) throw new DatabaseError(tooOld(lacking));
    await inTransaction(sql, async () => {
      if (!isInPlace(migration, applied))
        await sql.unsafe(withSchemaNames(text, names)).catch((error: Error) => {
          throw new DatabaseError(`migration ${name} cannot be applied: ${error.message}`, { cause: error });
        });
      const recorded = { [name]: checksum, ...(migration.isLastOfBaseline ? migration.replaced : {}) };
      await sql`insert into migrations (name, checksum)
        select key, value from json_each_text(${JSON.stringify(recorded)}::text::json) on conflict do nothing`;
    });
  }
}

/** The error of a database from before the version that the baseline was made of. */
const tooOld = (lacking: string): string =>
  `this database was made by an earlier version, and lacks its migration ${lacking}, or has another text of it: start the last version that has this file first, then this one (docs/deployment.md#upgrades); a database of development can be deleted (the folder data)`;
