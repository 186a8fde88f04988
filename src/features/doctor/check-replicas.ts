import type { Config } from '../../config/config.js';
import { eachServer } from '../../database-url/servers.js';
import { inspectDatabase } from '../../db/inspect.js';
import { unreachable } from '../../db/migrate.js';
import { REPLICA_SETTINGS } from '../replicas/settings.js';
import { type Check, resultsOf } from './check.js';

const replicas = resultsOf('replicas');

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
