import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.js';
import {
  type Inspection,
  inspectDatabase,
  isPoolerError,
  POOLER,
  receivesNotifications,
} from '../../db/inspect.js';
import { MIN_VERSION, unreachable } from '../../db/migrate.js';
import { eachServer, type OpenEmbedded, openServer } from '../../db/open-database.js';
import { connectionsOf, plainTextFault, roleFaults, type StartFault } from '../../db/start-faults.js';
import { quotedName } from '../../db/statements.js';
import type { Declarations } from '../../declarations/read-declarations.js';
import { createLog } from '../../telemetry/log.js';
import { findBinaries } from '../embedded/binaries.js';
import { EMBEDDED_SETTINGS } from '../embedded/settings.js';
import { REPLICA_SETTINGS } from '../replicas/settings.js';
import { type Check, messageOf, resultsOf } from './check.js';
import { checkDatabaseClock } from './check-clock.js';
import { checkPlan } from './check-plan.js';

const database = resultsOf('database');
const permissions = resultsOf('permissions');
const replicas = resultsOf('replicas');

const NOTIFICATION_MS = 5000;

/** The database, what its role may do, its clock, and what the next start changes. An embedded server is stopped again. */
export async function checkDatabase(
  config: Config,
  declarations: Declarations | undefined,
  openEmbedded: OpenEmbedded,
): Promise<Check[]> {
  const { dataDir } = EMBEDDED_SETTINGS.of(config);
  if (config.databaseUrl === undefined && !existsSync(join(dataDir, 'postgres', 'PG_VERSION')))
    return [await checkBinaries(dataDir)];
  try {
    const server = await openServer(config, createLog('silent'), true, openEmbedded);
    try {
      return await checkServer(server.url, config, declarations);
    } finally {
      await server.close();
    }
  } catch (error) {
    return [database.problem(messageOf(error), 'see docs/configuration.md: DATABASE_URL and DATA_DIR')];
  }
}

/** Whether there is a PostgreSQL to create a database with. */
async function checkBinaries(dataDir: string): Promise<Check> {
  try {
    await findBinaries();
    return database.ok(`the first start creates an embedded database in ${dataDir}`);
  } catch (error) {
    return database.problem(messageOf(error), 'set DATABASE_URL to a PostgreSQL of version 15 or newer');
  }
}

async function checkServer(
  url: string,
  config: Config,
  declarations: Declarations | undefined,
): Promise<Check[]> {
  const names = declarations?.collections.map(({ name }) => name) ?? [];
  let found: Inspection;
  try {
    found = await inspectDatabase(url, names, config.dbTimeoutMs);
  } catch (error) {
    if (isPoolerError(error)) return [database.problem(POOLER.problem, POOLER.advice)];
    if (isRefusal(error as { code?: string })) throw error;
    const text = unreachable(error as Error).split('; check', 1)[0]!;
    return [
      database.problem(text, 'check DATABASE_URL, and whether PostgreSQL runs and accepts this client'),
    ];
  }
  return [
    ...serverChecks(found, config),
    ...roleChecks(found, config),
    ...(await checkNotifications(url)),
    checkDatabaseClock(found.aheadMs),
    ...(declarations === undefined ? [] : await checkPlan(url, config, declarations, found)),
  ];
}

/** Whether a statement failed, and not the connection: a SQLSTATE of other classes than login, name and shutdown. */
const isRefusal = ({ code = '' }: { code?: string }): boolean =>
  /^(?!28|3D|53|57|08)\d[\dA-Z]{4}$/.test(code);

function serverChecks(found: Inspection, config: Config): Check[] {
  const checks: Check[] = [];
  if (found.versionNumber < MIN_VERSION)
    checks.push(
      database.problem(`PostgreSQL ${found.version} is too old`, 'upgrade it to version 15 or newer'),
    );
  if (!found.passesSettings) checks.push(database.problem(POOLER.problem, POOLER.advice));
  if (found.isStandby)
    checks.push(database.problem('the database is a standby, which is read-only', 'connect to the primary'));
  else if (found.isReadOnly)
    checks.push(
      database.problem(
        'default_transaction_read_only is on',
        `turn it off: alter database ${found.database} set default_transaction_read_only = off`,
      ),
    );
  const plainText = plainTextFault(found, config.databaseUrl);
  if (plainText) checks.push(database.warning(plainText.message, plainText.advice));
  const needed = connectionsOf(config);
  const free = found.maxConnections - found.connections;
  if (free < needed)
    checks.push(
      database.warning(
        `${free} of ${found.maxConnections} connections are free, and the service may open ${needed}`,
        'raise max_connections of PostgreSQL, or lower DB_CONNECTIONS or WORKERS',
      ),
    );
  return checks.length > 0
    ? checks
    : [
        database.ok(
          `PostgreSQL ${found.version}, database ${found.database}, ${found.isEncrypted ? 'with' : 'without'} TLS; ${free} connections are free`,
        ),
      ];
}

function roleChecks(found: Inspection, config: Config): Check[] {
  const { role, schema } = found;
  const checks: Check[] = [];
  if (schema === null)
    checks.push(
      permissions.problem('no schema of the search_path exists', `create schema authorization ${role}`),
    );
  else if (!found.mayCreate)
    checks.push(
      permissions.problem(
        `the role ${role} may not create tables in the schema ${schema}`,
        `grant create on schema ${schema} to ${role}`,
      ),
    );
  const collections = schema === null ? undefined : collectionsFault(found);
  if (collections) checks.push(permissions.problem(collections.message, collections.advice));
  if (!found.hasTrigrams && !found.mayCreateTrigrams)
    checks.push(
      permissions.problem(
        `the extension pg_trgm is missing, and the role ${role} may not create it`,
        'as a superuser: create extension pg_trgm (package postgresql-contrib)',
      ),
    );
  for (const { message, advice } of roleFaults(found, config))
    checks.push(permissions.problem(message, advice));
  return checks.length > 0 ? checks : [permissions.ok(`the role ${role} may create tables in ${schema}`)];
}

/** Why the role cannot create the tables of collections. */
function collectionsFault(found: Inspection): StartFault | undefined {
  const [role, schema] = [found.role, found.collectionsSchema].map(quotedName);
  if (found.hasCollectionsSchema)
    return found.mayCreateCollections
      ? undefined
      : {
          message: `the role ${role} may not create tables in the schema ${schema} of the collections`,
          advice: `alter schema ${schema} owner to ${role}`,
        };
  if (found.mayCreateSchemas) return undefined;
  return {
    message: `the role ${role} may not create the schema ${schema} for the tables of the collections`,
    advice: `create schema ${schema} authorization ${role}`,
  };
}

async function checkNotifications(url: string): Promise<Check[]> {
  const advice = 'connect to PostgreSQL itself, or to a pooler of sessions';
  try {
    if (await receivesNotifications(url, NOTIFICATION_MS)) return [];
    return [
      permissions.problem('notifications (LISTEN) do not arrive, as behind a pooler of transactions', advice),
    ];
  } catch (error) {
    return [permissions.problem(`the role cannot listen to notifications: ${messageOf(error)}`, advice)];
  }
}

/** Whether each server of DATABASE_READ_URL can be reached and is a standby. */
export async function checkReplicas(config: Config): Promise<Check[]> {
  const { databaseReadUrl } = REPLICA_SETTINGS.of(config);
  if (databaseReadUrl === undefined) return [];
  return Promise.all(
    eachServer(databaseReadUrl).map(({ name, url }) => checkReplica(name, url, config.dbTimeoutMs)),
  );
}

async function checkReplica(host: string, url: string, timeoutMs: number): Promise<Check> {
  try {
    const { isStandby, version } = await inspectDatabase(url, [], timeoutMs);
    return isStandby
      ? replicas.ok(`${host} is a standby, PostgreSQL ${version}`)
      : replicas.problem(
          `${host} is no standby, so that nothing is read from it`,
          'see docs/high-availability.md',
        );
  } catch (error) {
    return replicas.problem(
      `${host}: ${unreachable(error as Error)}`,
      'check DATABASE_READ_URL; until then the other servers read',
    );
  }
}
