import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.js';
import { MIN_VERSION, pendingMigrations, unreachable } from '../../db/migrate.js';
import { eachServer, isPoolerError, type OpenEmbedded, openServer, POOLER } from '../../db/open-database.js';
import { quotedName } from '../../db/statements.js';
import type { Declarations } from '../../declarations/read-declarations.js';
import { planCollections } from '../../schema/migrate-collections.js';
import { createLog } from '../../telemetry/log.js';
import { findBinaries } from '../embedded/binaries.js';
import { EMBEDDED_SETTINGS } from '../embedded/settings.js';
import { REPLICA_SETTINGS } from '../replicas/settings.js';
import { type Check, type Fault, messageOf, resultsOf } from './check.js';
import { checkDatabaseClock } from './check-clock.js';
import { type Inspection, inSession, inspectDatabase, receivesNotifications } from './inspection.js';
import { connectionsOf, plainTextFault, roleFaults } from './role-faults.js';

const database = resultsOf('database');
const permissions = resultsOf('permissions');
const replicas = resultsOf('replicas');
const plan = resultsOf('plan');

const NOTIFICATION_MS = 5000;

/** The database, what its role may do, its clock, and what the next start changes. An embedded server is stopped again. */
export async function checkDatabase(
  config: Config,
  declarations: Declarations | undefined,
  openEmbedded: OpenEmbedded,
): Promise<Check[]> {
  const { dataDir } = EMBEDDED_SETTINGS.of(config);
  let advice = 'see docs/configuration.md: DATABASE_URL and DATA_DIR';
  try {
    if (config.databaseUrl === undefined && !existsSync(join(dataDir, 'postgres', 'PG_VERSION'))) {
      advice = 'set DATABASE_URL to a PostgreSQL of version 15 or newer';
      await findBinaries();
      return [database.ok(`the first start creates an embedded database in ${dataDir}`)];
    }
    const server = await openServer(config, createLog('silent'), true, openEmbedded);
    try {
      return await checkServer(server.url, config, declarations);
    } finally {
      await server.close();
    }
  } catch (error) {
    return [database.problem(messageOf(error), advice)];
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
    const advice = 'check DATABASE_URL, and whether PostgreSQL runs and accepts this client';
    return [database.problem(text, advice)];
  }
  return [
    ...serverChecks(found, config),
    ...roleChecks(found, config),
    ...(await checkNotifications(url)),
    ...checkDatabaseClock(found.aheadMs),
    ...(declarations === undefined ? [] : await checkPlan(url, config, declarations, found)),
  ];
}

/** Whether a statement failed, and not the connection: a SQLSTATE of other classes than login, name and shutdown. */
const isRefusal = ({ code = '' }: { code?: string }): boolean =>
  /^(?!28|3D|53|57|08)\d[\dA-Z]{4}$/.test(code);

function serverChecks(found: Inspection, config: Config): Check[] {
  const { version, database: name, isStandby, isReadOnly, maxConnections } = found;
  const plainText = plainTextFault(found, config.databaseUrl);
  const [needed, free] = [connectionsOf(config), maxConnections - found.connections];
  const state = `${found.isEncrypted ? 'with' : 'without'} TLS; ${free} connections are free`;
  return database.of(`PostgreSQL ${version}, database ${name}, ${state}`, [
    [
      found.versionNumber < MIN_VERSION,
      'problem',
      `PostgreSQL ${version} is too old`,
      'upgrade it to version 15 or newer',
    ],
    [!found.passesSettings, 'problem', POOLER.problem, POOLER.advice],
    [isStandby, 'problem', 'the database is a standby, which is read-only', 'connect to the primary'],
    [
      !isStandby && isReadOnly,
      'problem',
      'default_transaction_read_only is on',
      `turn it off: alter database ${name} set default_transaction_read_only = off`,
    ],
    [plainText, 'warning', plainText?.message ?? '', plainText?.advice ?? ''],
    [
      free < needed,
      'warning',
      `${free} of ${maxConnections} connections are free, and the service may open ${needed}`,
      'raise max_connections of PostgreSQL, or lower DB_CONNECTIONS or WORKERS',
    ],
  ]);
}

function roleChecks(found: Inspection, config: Config): Check[] {
  const { role, schema, hasCollectionsSchema } = found;
  const [quotedRole, ofCollections] = [role, found.collectionsSchema].map(quotedName);
  return permissions.of(`the role ${role} may create tables in ${schema}`, [
    [
      schema === null,
      'problem',
      'no schema of the search_path exists',
      `create schema authorization ${role}`,
    ],
    [
      schema !== null && !found.mayCreate,
      'problem',
      `the role ${role} may not create tables in the schema ${schema}`,
      `grant create on schema ${schema} to ${role}`,
    ],
    [
      schema !== null && hasCollectionsSchema && !found.mayCreateCollections,
      'problem',
      `the role ${quotedRole} may not create tables in the schema ${ofCollections} of the collections`,
      `alter schema ${ofCollections} owner to ${quotedRole}`,
    ],
    [
      schema !== null && !hasCollectionsSchema && !found.mayCreateSchemas,
      'problem',
      `the role ${quotedRole} may not create the schema ${ofCollections} for the tables of the collections`,
      `create schema ${ofCollections} authorization ${quotedRole}`,
    ],
    [
      !found.hasTrigrams && !found.mayCreateTrigrams,
      'problem',
      `the extension pg_trgm is missing, and the role ${role} may not create it`,
      'as a superuser: create extension pg_trgm (package postgresql-contrib)',
    ],
    ...roleFaults(found, config).map(({ message, advice }): Fault => [true, 'problem', message, advice]),
  ]);
}

async function checkNotifications(url: string): Promise<Check[]> {
  const advice = 'connect to PostgreSQL itself, or to a pooler of sessions';
  let fault = 'notifications (LISTEN) do not arrive, as behind a pooler of transactions';
  try {
    if (await receivesNotifications(url, NOTIFICATION_MS)) return [];
  } catch (error) {
    fault = `the role cannot listen to notifications: ${messageOf(error)}`;
  }
  return [permissions.problem(fault, advice)];
}

/** Whether each server of DATABASE_READ_URL can be reached and is a standby. */
export async function checkReplicas(config: Config): Promise<Check[]> {
  const { databaseReadUrl } = REPLICA_SETTINGS.of(config);
  const servers = databaseReadUrl === undefined ? [] : eachServer(databaseReadUrl);
  return Promise.all(servers.map(({ name, url }) => checkReplica(name, url, config.dbTimeoutMs)));
}

async function checkReplica(host: string, url: string, timeoutMs: number): Promise<Check> {
  try {
    const { isStandby, version } = await inspectDatabase(url, [], timeoutMs);
    if (isStandby) return replicas.ok(`${host} is a standby, PostgreSQL ${version}`);
    return replicas.problem(
      `${host} is no standby, so that nothing is read from it`,
      'see docs/high-availability.md',
    );
  } catch (error) {
    const advice = 'check DATABASE_READ_URL; until then the other servers read';
    return replicas.problem(`${host}: ${unreachable(error as Error)}`, advice);
  }
}

/** The changes that the next start or `plinth migrate` makes. */
async function checkPlan(
  url: string,
  { migrate, databaseEngine, dbTimeoutMs }: Config,
  declarations: Declarations,
  { hasMigrations, role }: Inspection,
): Promise<Check[]> {
  try {
    if (!hasMigrations) return [plan.ok('the first start creates all tables')];
    const { refusal, changed, missing } = await inSession(url, dbTimeoutMs, (run) =>
      pendingMigrations(run, databaseEngine),
    );
    const others = `applied migrations are others than those of this version: ${changed.join(', ')}`;
    if (refusal !== undefined) return [plan.problem(refusal, 'start the version that the database needs')];
    if (changed.length > 0)
      return [
        plan.problem(others, 'restore the files of sql/migrations, or delete a database of development'),
      ];
    if (missing.length > 0) return [plan.ok(`the next start applies ${missing.join(', ')}`)];
    const { steps, drops, violations } = await planCollections(url, declarations);
    const isOpen = steps.length > 0;
    const matches = isOpen
      ? `the next start takes ${steps.length} steps: plinth migrate --plan`
      : 'the tables match the declarations';
    const violating = violations.filter((each) => each.violating > 0);
    return plan.of(matches, [
      ...violating.map(
        (each): Fault => [
          true,
          'problem',
          `${each.violating} of ${each.records} records of ${each.collection} violate the declaration`,
          'plinth migrate --violations lists them; correct them, or plinth migrate --allow-violations',
        ],
      ),
      [
        isOpen && migrate !== 'auto' && violating.length === 0,
        'problem',
        `the tables do not match the declarations: ${steps.length} steps are missing`,
        'plinth migrate --plan, then plinth migrate',
      ],
      [
        !isOpen && drops.length > 0 && violating.length === 0,
        'warning',
        `${drops.length} steps complete a change of the declarations: they remove what is no longer declared`,
        'plinth migrate --plan, then plinth migrate --allow-drop when no service has them; or declare it again',
      ],
    ]);
  } catch (error) {
    const text = `the tables cannot be compared with the declarations: ${messageOf(error)}`;
    return [plan.problem(text, `let the role ${role} own the tables, or correct the cause`)];
  }
}
