import { setTimeout as sleep } from 'node:timers/promises';
import type { Row, Run } from '../../db/db.js';
import { serviceTables } from '../../db/migrate.js';
import { collectionsSchemaOf } from '../../db/object-names.js';
import { withSession } from '../../db/session.js';
import { statements } from '../../db/statements.js';

const DOCTOR_SQL = statements('features/doctor/doctor.sql', ['inspect']);

/** A server that passes the settings of a session on knows that this one records no events. */
const SETTINGS = { application_name: 'plinth doctor', 'plinth.events': 'off' };

/** A database and the rights of its role: the row of sql/features/doctor/doctor.sql. */
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

/** Runs statements in a session of their own. Rejects with the error of the driver. */
export const inSession = <T>(url: string, timeoutMs: number, work: (run: Run) => Promise<T>): Promise<T> =>
  withSession(url, { settings: SETTINGS, connectMs: timeoutMs }, (sql) =>
    work(async (text, args) => [...(await sql.unsafe<Row[]>(text, [...args]))]),
  );

/** Inspects a database without changing it; `names` are those of the collections. Rejects with the error of the driver. */
export const inspectDatabase = (
  url: string,
  names: readonly string[],
  timeoutMs: number,
): Promise<Inspection> =>
  inSession(url, timeoutMs, async (run) => {
    const began = Date.now();
    const [{ schema }] = (await run('select current_schema() as schema', [])) as [{ schema: string | null }];
    const collections = schema === null ? '' : collectionsSchemaOf(schema);
    const tables = [serviceTables(), names].map((each) => JSON.stringify(each));
    const [row] = await run(DOCTOR_SQL.inspect, [...tables, collections]);
    const { now, foreignTables, ...found } = row!;
    const ended = Date.now();
    return {
      ...(found as unknown as Inspection),
      collectionsSchema: collections,
      aheadMs: Number(now) - Math.min(Math.max(Number(now), began), ended),
      foreignTables: JSON.parse(String(foreignTables)) as string[],
    };
  });

const CHANNEL = 'plinth_inspection';

/** Whether a notification arrives on a connection that listens: a pooler of transactions loses it. Rejects if it cannot listen. */
export async function receivesNotifications(url: string, timeoutMs: number): Promise<boolean> {
  let onReceived: () => void = () => undefined;
  const received = new Promise<true>((resolve) => {
    onReceived = () => resolve(true);
  });
  return withSession(
    url,
    { settings: SETTINGS, connectMs: timeoutMs, onNotification: () => onReceived() },
    async (sql) => {
      await sql`listen ${sql(CHANNEL)}`;
      await sql.notify(CHANNEL, '');
      return Promise.race([received, sleep(timeoutMs, false, { ref: false })]);
    },
  );
}
