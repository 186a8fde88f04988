import type { Resource } from '../../collection/resource.js';
import { type BulkConnection, type BulkSettings, withBulkConnection } from '../../db/bulk-connection.js';
import { databaseErrorOf } from '../../db/database-errors.js';
import { fill } from '../../db/statements.js';
import { IMPORT_SQL } from './import-statements.js';

const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Drops the indexes of a collection that are not unique, and returns their definitions: to build them afterwards takes less
 * time. If a service uses the table for more than a second, they stay.
 */
export async function dropIndexes(
  { run, execute }: BulkConnection,
  { table }: Resource,
): Promise<readonly string[]> {
  const indexes = await run(IMPORT_SQL.droppable, [table]);
  if (indexes.length === 0) return [];
  const drops = indexes.map(({ name }) => fill(IMPORT_SQL.drop_index, { index: String(name) }));
  try {
    await execute(`set lock_timeout = '1s'; ${drops.join('; ')}`);
    return indexes.map(({ definition }) => String(definition));
  } catch (error) {
    if (databaseErrorOf(error)?.code !== LOCK_NOT_AVAILABLE) throw error;
    return [];
  } finally {
    await execute('reset lock_timeout');
  }
}

/** Connections that build indexes at the same time. */
const BUILDERS = 2;

/**
 * Builds dropped indexes, the most expensive first, unless other sessions use the database: they could not write meanwhile.
 * Returns whether it has built them.
 */
export async function buildAlone(
  url: string,
  settings: BulkSettings,
  definitions: readonly string[],
  onIndex: (definition: string) => void,
): Promise<boolean> {
  const pending = definitions.toSorted((a, b) => costOf(b) - costOf(a));
  const build = (): Promise<boolean> =>
    withBulkConnection(url, settings, async ({ run, execute }) => {
      const [others] = await run(IMPORT_SQL.others, []);
      if (others?.exist !== false) return false;
      await execute("set maintenance_work_mem = '256MB'");
      for (let definition = pending.shift(); definition !== undefined; definition = pending.shift()) {
        onIndex(definition);
        await execute(definition);
      }
      return true;
    });
  const built = await Promise.all(Array.from({ length: BUILDERS }, build));
  return built.every((each) => each);
}

const costOf = (definition: string) =>
  /gin \(grams/.test(definition) ? 2 : /using gin/i.test(definition) ? 1 : 0;
