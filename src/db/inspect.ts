import { setTimeout as sleep } from 'node:timers/promises';
import { INSPECTION_SQL } from './core-statements.js';
import type { Row, Run } from './db.js';
import { DatabaseUnavailableError } from './migrate.js';
import { serviceTables } from './migrations.js';
import { collectionsSchemaOf } from './object-names.js';
import { withSchemaConnection } from './schema-connection.js';
import { withSession } from './session.js';
import { TASK_SETTINGS } from './session-settings.js';

/** A database and the rights of its role: the row of sql/inspection.sql. */
export interface Inspection {
  readonly version: string;
  readonly versionNumber: number;
  readonly role: string;
  readonly database: string;
  /** Null: no schema of the search path exists. */
  readonly schema: string | null;
  /** Whether the settings of a session reach it: a pooler ignores them. */
  readonly passesSettings: boolean;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  readonly mayCreate: boolean;
  /** The schema for the tables of collections, whether it exists, and whether the role may create tables in it. */
  readonly collectionsSchema: string;
  readonly hasCollectionsSchema: boolean;
  readonly mayCreateCollections: boolean;
  readonly mayCreateSchemas: boolean;
  /** Whether it has the extension that searches need, or may create it. */
  readonly hasTrigrams: boolean;
  readonly mayCreateTrigrams: boolean;
  /** The schema of the extension, if the search path does not have it. */
  readonly hiddenTrigrams: string | null;
  readonly hasMigrations: boolean;
  /** Whether the session comes from the machine of the database. */
  readonly isLocal: boolean;
  readonly isEncrypted: boolean;
  /** Connections that roles other than superusers may have, and those of now. */
  readonly maxConnections: number;
  readonly connections: number;
  /** Connections that the role and the database may have, and those of now; -1: any number. */
  readonly roleLimit: number;
  readonly roleConnections: number;
  readonly databaseLimit: number;
  readonly databaseConnections: number;
  /** How far its clock is at least ahead of that of this machine; the time that the query took hides a smaller difference. */
  readonly aheadMs: number;
  /** Tables of the service that belong to another role. */
  readonly foreignTables: readonly string[];
}

/** Inspects a database without changing it; `names` are those of the collections. Rejects with the error of the driver. */
export function inspectDatabase(
  url: string,
  names: readonly string[],
  timeoutMs: number,
): Promise<Inspection> {
  return withSchemaConnection(url, ({ run }) => inspect(run, names), timeoutMs);
}

/** The rows of one statement, in a session of its own. Rejects with the error of the driver. */
export const readOnce = (url: string, text: string, timeoutMs: number): Promise<Row[]> =>
  withSchemaConnection(url, ({ run }) => run(text, []), timeoutMs);

/** Inspects the database of an open session. */
export async function inspect(run: Run, names: readonly string[]): Promise<Inspection> {
  const began = Date.now();
  const [{ schema }] = (await run('select current_schema() as schema', [])) as [{ schema: string | null }];
  const collections = schema === null ? '' : collectionsSchemaOf(schema);
  const tables = [serviceTables(), names].map((each) => JSON.stringify(each));
  const [row] = await run(INSPECTION_SQL.inspect, [...tables, collections]);
  const { now, foreignTables, ...found } = row!;
  const ended = Date.now();
  return {
    ...(found as unknown as Inspection),
    collectionsSchema: collections,
    aheadMs: Number(now) - Math.min(Math.max(Number(now), began), ended),
    foreignTables: JSON.parse(String(foreignTables)) as string[],
  };
}

const CHANNEL = 'plinth_inspection';

/** Whether a notification arrives on a connection that listens: a pooler of transactions loses it. Rejects if it cannot listen. */
export async function receivesNotifications(url: string, timeoutMs: number): Promise<boolean> {
  let onReceived: () => void = () => undefined;
  const received = new Promise<true>((resolve) => {
    onReceived = () => resolve(true);
  });
  return withSession(
    url,
    { settings: TASK_SETTINGS.inspect, connectMs: timeoutMs, onNotification: () => onReceived() },
    async (sql) => {
      await sql`listen ${sql(CHANNEL)}`;
      await sql.notify(CHANNEL, '');
      return Promise.race([received, sleep(timeoutMs, false, { ref: false })]);
    },
  );
}

/** A feature that a pooler prevents, and the remedy. */
export const POOLER = {
  problem:
    'DATABASE_URL leads to a pooler that does not pass on the settings of a session (time limits, events, tombstones); in transaction mode, prepared statements and LISTEN fail, too',
  advice: 'connect to PostgreSQL itself. Each process has few connections (DB_CONNECTIONS)',
};

/** The server has no prepared statement of this name: it was prepared in another session. */
const NO_SUCH_STATEMENT = '26000';

/** Whether an error is a pooler's. */
export function isPoolerError(error: unknown): boolean {
  const { code, message = '' } = error as { code?: unknown; message?: string };
  return code === NO_SUCH_STATEMENT || message.includes('unsupported startup parameter');
}

/**
 * Checks that the settings of a session reach PostgreSQL. A pooler such as PgBouncer refuses or ignores them; then time
 * limits and events would be missing, and in its transaction mode prepared statements and notifications as well. Throws
 * DatabaseUnavailableError. Other errors are left to the migration, which explains them.
 */
export async function requireSession(run: Run): Promise<void> {
  let isSet: boolean;
  try {
    const [row] = await run(`select current_setting('plinth.events', true) as events`, []);
    isSet = typeof row!.events === 'string';
  } catch (error) {
    isSet = !isPoolerError(error);
  }
  if (!isSet) throw new DatabaseUnavailableError(`${POOLER.problem}: ${POOLER.advice}`);
}
