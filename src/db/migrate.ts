import type postgres from 'postgres';
import { CITUS, type Engine, POSTGRESQL } from '../database-url/engine.js';
import { ExitError } from '../errors/exit-error.js';
import { versionOf } from '../version.js';
import type { Row, Run } from './db.js';
import {
  BASELINE,
  DISTRIBUTION,
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

/** This version, or its settings, cannot serve it. */
class DatabaseRefusedError extends DatabaseError {
  override readonly exitCode = 78;
}

/** The key of an advisory lock: "plnt" and 1. */
const LOCK = [0x706c6e74, 1] as const;
export const MIN_VERSION = 150_000;

/**
 * Brings the schema up to date: applies each file of sql/migrations once, in order, each in a transaction. An advisory
 * lock serializes services that start together. Throws DatabaseError when the database is unavailable or too old, when it does
 * not serve this version, when a migration fails, or when an applied one has changed.
 */
export async function migrate(url: string, timeoutMs: number, engine: Engine = POSTGRESQL): Promise<void> {
  let isOpen = false;
  const bringUpToDate = async (sql: postgres.Sql): Promise<void> => {
    isOpen = true;
    const run: Run = async (text, args) => [...(await sql.unsafe<Row[]>(text, [...args]))];
    await requireVersion(run);
    await takeTurn(run, LOCK);
    if (engine.isDistributed) await requireCluster(sql, engine);
    const names = await nameCollectionsSchema(sql);
    await placeTrigrams(sql);
    await applyMissing(sql, run, engine, names);
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
 * Whether a database has all migrations of this version, and serves it, on an open connection. False also after an
 * error, which `migrate` then reports.
 */
export async function isMigrated(run: Run, engine: Engine = POSTGRESQL): Promise<boolean> {
  try {
    const { missing, changed, refusal } = await pendingMigrations(run, engine);
    return (await versionOfServer(run)) >= MIN_VERSION && !refusal && missing.length + changed.length === 0;
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

async function versionOfServer(run: Run): Promise<number> {
  const [row] = await run(`select current_setting('server_version_num') as version`, []);
  return Number(row?.version);
}

async function requireVersion(run: Run): Promise<void> {
  const version = await versionOfServer(run);
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

async function requireCluster(sql: postgres.Sql, { name }: Engine): Promise<void> {
  const [row] = await sql<{ isCluster: boolean }[]>`
    select exists (select from pg_extension where extname = ${name}) as "isCluster"`;
  if (row?.isCluster) return;
  throw new DatabaseError(
    'DATABASE_ENGINE=citus needs a database with the extension citus that knows its nodes: docs/high-availability.md',
  );
}

/**
 * The work before this version runs: migrations to apply, and applied ones whose files are others. `refusal`: why this version
 * does not run.
 */
export async function pendingMigrations(
  run: Run,
  engine: Engine = POSTGRESQL,
): Promise<{ missing: string[]; changed: string[]; refusal: string | undefined }> {
  const rows = await run('select name, checksum from migrations', []);
  const applied = new Map(rows.map(({ name, checksum }) => [String(name), String(checksum)]));
  const known = migrationsOn(engine);
  return {
    missing: known.filter(({ name }) => !applied.has(name)).map(({ name }) => name),
    changed: known
      .filter(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum)
      .map(({ name }) => name),
    refusal: refusalOf(applied, engine),
  };
}

/** The row of `migrations` with the oldest version that a database can serve. */
const OLDEST = '0000_oldest_program';

/** Why this version does not serve a database, as its table `migrations` shows; undefined: it does. */
function refusalOf(applied: ReadonlyMap<string, string>, engine: Engine): string | undefined {
  const oldest = applied.get(OLDEST);
  const [version, page] = [versionOf(), 'docs/deployment.md#upgrades'];
  if (oldest !== undefined && version.localeCompare(oldest, 'en', { numeric: true }) < 0)
    return `the database serves version ${oldest} and later, and this is version ${version}: start a later one (${page})`;
  if (applied.size > 0 && !applied.has(BASELINE))
    return `the database was made by a version before 0.1.0: start version 0.1.0 first, then this one (${page}); a database of development can be deleted (the folder data)`;
  if (!engine.isDistributed && applied.has(DISTRIBUTION))
    return 'the records of this database are distributed: set DATABASE_ENGINE=citus';
  return undefined;
}

async function applyMissing(sql: postgres.Sql, run: Run, engine: Engine, names: SchemaNames): Promise<void> {
  await sql`create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
  const { missing, changed, refusal } = await pendingMigrations(run, engine);
  if (refusal !== undefined) throw new DatabaseRefusedError(refusal);
  if (changed.length > 0)
    throw new DatabaseError(
      `migration ${changed[0]} was changed after it had been applied to this database: in production restore the file, and put the change into a new migration; in development delete the database (the folder data), which is then created anew`,
    );
  for (const { name, text, checksum } of migrationsOn(engine).filter(({ name }) => missing.includes(name)))
    await inTransaction(
      (statement) => sql.unsafe(statement),
      async () => {
        await sql.unsafe(withSchemaNames(text, names)).catch((error: Error) => {
          throw new DatabaseError(`migration ${name} cannot be applied: ${error.message}`, { cause: error });
        });
        await sql`insert into migrations (name, checksum) values (${name}, ${checksum})`;
      },
    );
}

/** The tables of the service, besides those of collections, whose names have the placeholder of their schema. */
export function serviceTables(): readonly string[] {
  const texts = migrationsOn(CITUS).map(({ text }) => text.replace(/^ *--.*$/gm, ''));
  const tables = texts.flatMap((text) => [...text.matchAll(/\bcreate (?:unlogged )?table (\w+)/g)]);
  return ['migrations', ...new Set(tables.map(([, name]) => name!))];
}
