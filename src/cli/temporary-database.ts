import { databaseErrorOf } from '../db/database-errors.js';
import { type SchemaConnection, withSchemaConnection } from '../db/schema-connection.js';
import { ExitError } from '../errors/exit-error.js';

const PREFIX = 'plinth_access_test_';
/** The age from which a database is one that a killed command has left. */
const LEFT_MS = 3_600_000;
const LEFT = `
select datname from pg_database
where case when datname ~ '^${PREFIX}[0-9]{1,15}_[0-9]+$' then split_part(datname, '_', 4)::bigint < $1::bigint end
  and not exists (select from pg_stat_activity as session where session.datname = pg_database.datname)`;
const INSUFFICIENT_PRIVILEGE = '42501';

/** Runs work on a new, empty database of a server, and drops it. Throws ExitError if the server lets the role create none. */
export function withTemporaryDatabase<T>(
  url: string,
  connectMs: number,
  work: (url: string) => Promise<T>,
): Promise<T> {
  return withSchemaConnection(url, connection, connectMs);

  async function connection({ run }: SchemaConnection): Promise<T> {
    const now = Date.now();
    const drop = (name: string) => run(`drop database if exists ${name} with (force)`, []);
    for (const { datname } of await run(LEFT, [now - LEFT_MS])) await drop(String(datname));
    const name = `${PREFIX}${now}_${process.pid}`;
    try {
      await run(`create database ${name} template template0`, []);
    } catch (error) {
      if (databaseErrorOf(error)?.code !== INSUFFICIENT_PRIVILEGE) throw error;
      throw new ExitError(
        'the role of DATABASE_URL may not create a database for the test: give it CREATEDB, or unset DATABASE_URL, so that the embedded PostgreSQL has it',
      );
    }
    try {
      // Of a parameter that a URL has twice, the last value counts.
      return await work(`${url}${url.includes('?') ? '&' : '?'}dbname=${name}`);
    } finally {
      await drop(name);
    }
  }
}
