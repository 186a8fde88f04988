import { openSql } from '../support/sql.js';
import { isThorough } from '../support/thorough.js';

/**
 * Ends the leases of deliveries that processes which were killed have left in a database. In thorough tests the leases end by
 * themselves, after some twenty seconds.
 */
export async function endLeases(databaseUrl: string): Promise<void> {
  if (isThorough) return;
  const sql = openSql(databaseUrl, { max: 1 });
  await sql`update deliveries set next_at = now() where owner is not null and next_at > now()`;
  await sql.end();
}
