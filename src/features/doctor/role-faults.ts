import { type Config, processesOf } from '../../config/config.js';
import type { Inspection } from './inspection.js';

/** The settings on which the number of connections depends. */
type PoolSizes = Pick<Config, 'dbConnections' | 'dbSearches' | 'dbStreams' | 'features'>;

/** The connections that a service may have: short statements, transactions, searches, lists, and those that listen. */
export function connectionsOf(sizes: PoolSizes): number {
  const { dbConnections, dbSearches, dbStreams } = sizes;
  return processesOf(sizes) * (2 * dbConnections + dbSearches + dbStreams + 2);
}

interface RoleFault {
  readonly message: string;
  readonly advice: string;
}

/** The faults of a role with which the service starts: later, some of its statements fail or wait. */
export function roleFaults(found: Inspection, sizes: PoolSizes): RoleFault[] {
  const { role, database, foreignTables, hiddenTrigrams } = found;
  const needed = connectionsOf(sizes);
  const faults: RoleFault[] = [];
  if (foreignTables.length > 0)
    faults.push({
      message: `tables belong to another role, so that migrations fail and expired events are not truncated: ${foreignTables.join(', ')}`,
      advice: `alter table ${foreignTables[0]} owner to ${role}, and so on; or connect as their owner`,
    });
  if (hiddenTrigrams !== null)
    faults.push({
      message: `the extension pg_trgm is in the schema ${hiddenTrigrams}, which is not in the search_path, so that collections with searches cannot be created`,
      advice: `alter extension pg_trgm set schema ${found.schema ?? 'public'}; or add ${hiddenTrigrams} to the search_path of ${role}`,
    });
  for (const [name, limit, connections] of [
    [`role ${role}`, found.roleLimit, found.roleConnections],
    [`database ${database}`, found.databaseLimit, found.databaseConnections],
  ] as const)
    if (limit >= 0 && limit < needed)
      faults.push({
        message: `the ${name} may have ${limit} connections (${connections} now), and the service may open ${needed}`,
        advice: `alter ${name} connection limit ${needed}, or lower DB_CONNECTIONS or WORKERS`,
      });
  return faults;
}

/** The fault of a connection that may be read on its way, although the operator did not choose plain text. */
export function plainTextFault(
  { isLocal, isEncrypted }: Pick<Inspection, 'isLocal' | 'isEncrypted'>,
  databaseUrl: string | undefined,
): RoleFault | undefined {
  if (isLocal || isEncrypted || databaseUrl === undefined) return undefined;
  const [, mode = 'prefer'] = /[?&]sslmode=([^&]*)/.exec(databaseUrl) ?? [];
  if (mode !== 'prefer') return undefined;
  return {
    message: `the connections to the database are in plain text, which sslmode=${mode} permits`,
    advice: 'set sslmode=verify-full in DATABASE_URL; or sslmode=disable, if the network is safe',
  };
}
