import type postgres from 'postgres';

const UNDEFINED_FUNCTION = '42883';

/**
 * Begins an epoch of the feed if the database is a restored or promoted one, before a session writes. Does nothing on a
 * database without the schema, whose first epoch begins with it.
 */
export async function noteFeedEpoch(sql: postgres.Sql): Promise<void> {
  try {
    await sql`select note_feed_epoch()`;
  } catch (error) {
    if ((error as { code?: unknown }).code !== UNDEFINED_FUNCTION) throw error;
  }
}
