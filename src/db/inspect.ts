import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { driverUrl } from '../database-url.js';
import type { Row } from './db.js';
import { withSchemaConnection } from './schema-connection.js';
import { readStatements } from './statements.js';

const INSPECT = readStatements('inspection.sql').get('inspect')!;

/** What a database is, and what its role may do: the row of sql/inspection.sql. */
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
  /** Whether it has the extension that searches need, or may create it. */
  readonly hasTrigrams: boolean;
  readonly mayCreateTrigrams: boolean;
  readonly hasMigrations: boolean;
  /** Connections that roles other than superusers may have, and those of now. */
  readonly maxConnections: number;
  readonly connections: number;
  /** How far its clock is ahead of that of this machine. */
  readonly aheadMs: number;
  /** Tables of the service that belong to another role. */
  readonly foreignTables: readonly string[];
}

/** Inspects a database without changing it; `names` are the tables of the service. Rejects with the error of the driver. */
export function inspectDatabase(
  url: string,
  names: readonly string[],
  timeoutMs: number,
): Promise<Inspection> {
  return withSchemaConnection(
    url,
    async ({ run }) => {
      const began = Date.now();
      const [row] = await run(INSPECT, [JSON.stringify(names)]);
      return inspectionOf(row!, (began + Date.now()) / 2);
    },
    timeoutMs,
  );
}

function inspectionOf(row: Row, now: number): Inspection {
  return {
    version: String(row.version),
    versionNumber: Number(row.version_number),
    role: String(row.role),
    database: String(row.database),
    schema: row.schema === null ? null : String(row.schema),
    passesSettings: row.passes_settings === true,
    isStandby: row.is_standby === true,
    isReadOnly: row.is_read_only === true,
    mayCreate: row.may_create === true,
    hasTrigrams: row.has_trigrams === true,
    mayCreateTrigrams: row.offers_trigrams === true && row.may_create_extensions === true,
    hasMigrations: row.has_migrations === true,
    maxConnections: Number(row.max_connections),
    connections: Number(row.connections),
    aheadMs: Number(row.now) - now,
    foreignTables: JSON.parse(String(row.foreign_tables)) as string[],
  };
}

const CHANNEL = 'plinth_inspection';

/** Whether a notification arrives on a connection that listens: a pooler of transactions loses it. Rejects if it cannot listen. */
export async function receivesNotifications(url: string, timeoutMs: number): Promise<boolean> {
  const sql = postgres(driverUrl(url), {
    max: 1,
    onnotice: () => undefined,
    fetch_types: false,
    connect_timeout: 5,
  });
  try {
    const received = new Promise<true>((resolve, reject) => {
      const notify = () => sql.notify(CHANNEL, '');
      sql
        .listen(CHANNEL, () => resolve(true))
        .then(notify, reject)
        .catch(reject);
    });
    return await Promise.race([received, sleep(timeoutMs, false, { ref: false })]);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
