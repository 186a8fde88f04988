import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import { ExitError } from '../exit-error.js';
import type { Run } from './db.js';
import { DISTRIBUTION, type Engine, migrationsOn } from './engine.js';
import { collectionsSchemaOf } from './object-names.js';
import { inTransaction, withSession } from './session.js';

/** The database cannot be used as it is; the message is one line. */
export class DatabaseError extends ExitError {}

/** It cannot be reached, or its version is too old. */
export class DatabaseUnavailableError extends DatabaseError {
  override readonly exitCode = 69;
}

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

/** The key of an advisory lock: "plnt" and 1. */
const LOCK = [0x706c6e74, 1];
export const MIN_VERSION = 150_000;

/**
 * Brings the schema up to date: applies each file of sql/migrations once, in order, each in a transaction. An advisory
 * lock serializes services that start together. Throws DatabaseError when the database is unavailable or too old, when a
 * migration fails, or when an applied one has changed.
 */
export async function migrate(url: string, timeoutMs: number, engine: Engine = 'postgresql'): Promise<void> {
  let isOpen = false;
  const bringUpToDate = async (sql: postgres.Sql): Promise<void> => {
    isOpen = true;
    await requireVersion(sql);
    await sql`select pg_advisory_lock(${LOCK[0]!}::integer, ${LOCK[1]!}::integer)`;
    if (engine === 'citus') await requireCluster(sql);
    await nameCollectionsSchema(sql);
    await placeTrigrams(sql);
    await applyMissing(sql, engine);
  };
  const settings = { application_name: 'plinth migrate' };
  try {
    await withSession(url, { settings, connectMs: timeoutMs }, bringUpToDate);
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
    const known = readMigrations(engine).map(({ name, checksum }) => name + checksum);
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

/** Tells the migrations where the tables of collections are to be. Throws DatabaseError in the schema of others' collections. */
async function nameCollectionsSchema(sql: postgres.Sql): Promise<void> {
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
  await sql`select set_config('plinth.collections_schema', ${collectionsSchemaOf(schema)}, false)`;
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

/** What is to be done before this version runs: migrations to apply, and applied ones whose files are others. */
export async function pendingMigrations(
  run: Run,
  engine: Engine = 'postgresql',
): Promise<{ missing: string[]; changed: string[] }> {
  const rows = await run('select name, checksum from migrations', []);
  const applied = new Map(rows.map(({ name, checksum }) => [String(name), String(checksum)]));
  const known = readMigrations(engine);
  return {
    missing: known.filter(({ name }) => !applied.has(name)).map(({ name }) => name),
    changed: known
      .filter(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum)
      .map(({ name }) => name),
  };
}

async function applyMissing(sql: postgres.Sql, engine: Engine): Promise<void> {
  await sql`create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
  const rows = await sql<{ name: string; checksum: string }[]>`select name, checksum from migrations`;
  const applied = new Map(rows.map((row) => [row.name, row.checksum]));
  if (engine === 'postgresql' && applied.has(DISTRIBUTION))
    throw new DatabaseError('the records of this database are distributed: set DATABASE_ENGINE=citus');
  for (const { name, text, checksum } of readMigrations(engine)) {
    const before = applied.get(name);
    if (before === checksum) continue;
    if (before !== undefined)
      throw new DatabaseError(
        `migration ${name} was changed after it had been applied to this database: in production restore the file, and put the change into a new migration; in development delete the database (the folder data), which is then created anew`,
      );
    await inTransaction(sql, async () => {
      await sql.unsafe(withQuotedSchema(text)).catch((error: Error) => {
        throw new DatabaseError(`migration ${name} cannot be applied: ${error.message}`, { cause: error });
      });
      await sql`insert into migrations (name, checksum) values (${name}, ${checksum})`;
    });
  }
}

/**
 * Released migrations cast the name of the schema to regnamespace as it is, which takes `Shop` for `shop`, and fails for a
 * name with a space. Their files, and so their checksums, cannot change.
 */
const withQuotedSchema = (text: string): string =>
  text.replaceAll('current_schema()::regnamespace', 'quote_ident(current_schema())::regnamespace');

/** The name of the last migration of this version. */
export function newestMigration(): string {
  return readMigrations('postgresql').at(-1)!.name;
}

function readMigrations(engine: Engine): Migration[] {
  return migrationsOn(engine).map(({ name, text }) => ({
    name,
    text,
    checksum: createHash('sha256').update(text).digest('hex'),
  }));
}
