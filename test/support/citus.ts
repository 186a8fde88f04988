import type postgres from 'postgres';
import { openSql } from './sql.js';

/** The coordinator of a Citus cluster, in a database that knows its workers: `postgres://host:port/name`. */
export const CITUS_URL = process.env.CITUS_TEST_URL ?? '';

/** In place of Citus in one PostgreSQL: distributed tables are local ones. */
export const CITUS_STUBS = `
  create function create_distributed_table(name regclass, by text, colocate_with text default null) returns void language sql as '';
  create function create_distributed_function(name text) returns void language sql as '';
  create function citus_add_local_table_to_metadata(name text) returns void language sql as ''`;

/** The settings of a service on the cluster besides the address. */
export const ENGINE: Readonly<Record<string, string>> = CITUS_URL === '' ? {} : { DATABASE_ENGINE: 'citus' };

/** The view of the locks that sessions of a database wait for. */
export const LOCKS = CITUS_URL === '' ? 'pg_locks' : 'citus_locks';

type Work = (
  sql: postgres.Sql,
  node: { readonly port: number; readonly isCoordinator: boolean },
) => Promise<unknown>;

export const databaseAt = (url: string, name: string): string => url.replace(/\/[^/]*$/, `/${name}`);

async function withSql<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

/** Runs work in a database on each node, the coordinator first. */
async function onNodes(url: string, database: string, work: Work): Promise<void> {
  const nodes = await withSql(
    url,
    (sql) =>
      sql`select nodename as host, nodeport as port, groupid = 0 as "isCoordinator" from pg_dist_node order by groupid`,
  );
  for (const { host, port, isCoordinator } of nodes) {
    const at = new URL(databaseAt(url, database));
    at.hostname = host;
    at.port = String(port);
    await withSql(at.href, (sql) => work(sql, { port, isCoordinator }));
  }
}

const sessionsOf = (name: string) =>
  `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`;

/** Creates a database on each node; a copied one knows the nodes and has its shards. */
export async function createOnNodes(url: string, name: string, template: string): Promise<void> {
  await onNodes(url, 'postgres', async (sql) => {
    await sql`set citus.enable_create_database_propagation = off`;
    // Only one session may copy a template at a time.
    await sql`select pg_advisory_lock(1)`;
    await sql.unsafe(`create database ${name} template ${template} strategy file_copy`);
  });
}

const isInUse = (error: { readonly code?: string }): undefined => {
  if (error.code !== '55006') throw error;
};

export async function dropOnNodes(url: string, name: string): Promise<void> {
  await onNodes(url, 'postgres', async (sql) => {
    await sql`set citus.enable_create_database_propagation = off`;
    const drop = () => sql.unsafe(`drop database if exists ${name} with (force)`);
    // Citus itself may be connecting.
    for (let attempt = 1; attempt < 5; attempt++) if (await drop().catch(isInUse)) return;
    await drop();
  });
}

/** Creates an empty database that is a cluster. */
export async function createCluster(url: string, name: string): Promise<void> {
  await createOnNodes(url, name, 'template0');
  await onNodes(url, name, (sql) => sql`create extension citus`);
  const nodes = await withSql(
    url,
    (sql) => sql`select nodename, nodeport, groupid from pg_dist_node order by groupid`,
  );
  await withSql(databaseAt(url, name), async (sql) => {
    for (const { nodename, nodeport, groupid } of nodes) {
      if (groupid === 0) await sql`select citus_set_coordinator_host(${nodename}, ${nodeport}::integer)`;
      else await sql`select citus_add_node(${nodename}, ${nodeport}::integer)`;
    }
  });
}

/** Ends all sessions of a database, and permits no others, so that it can be copied. */
export async function closeOnNodes(url: string, name: string): Promise<void> {
  await onNodes(url, 'postgres', async (sql) => {
    await sql.unsafe(`alter database ${name} with allow_connections false`);
    await sql.unsafe(sessionsOf(name));
  });
}

/** On Citus, counts records that a test has inserted by SQL: there are no triggers. */
export async function countRecords(url: string, table: string): Promise<void> {
  if (CITUS_URL === '') return;
  await withSql(
    url,
    (sql) => sql`select note_changes(${table}, array(select moment_of(id) from ${sql(table)}), 1)`,
  );
}

/** Options of tests whose SQL relies on triggers. */
export const WITH_TRIGGERS = { skip: CITUS_URL !== '' && 'distributed tables have no triggers' };

/** Changes an item in a transaction of a test, as the service would. */
export async function touchOnCitus(tx: postgres.Sql, id: string): Promise<void> {
  const [item] = await tx`select lock_record('items', ${id}) ->> 'doc' as doc`;
  const changes = { doc: item!.doc.replace(/\d+}$/, '') };
  await tx`select write_over('items', ${id}, null, null, null, ${tx.json(changes)}, false, false)`;
}

/** Deletes all items beside the service. */
export async function deleteItems(sql: postgres.Sql): Promise<void> {
  if (CITUS_URL === '') await sql`delete from items`;
  else for (const { id } of await sql`select id from items`) await sql`select delete_record('items', ${id})`;
}
