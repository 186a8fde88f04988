import { statSync } from 'node:fs';
import { ENGINES } from '../database-url/engine.js';
import { databaseUrlOf, type Reader } from './env-reader.js';
import { pathIn } from './parsers.js';

/** How long deletions are remembered, unless the setting says how long. */
const TOMBSTONE_SECONDS = 2_592_000;

const COLLECTIONS = './collections';

/** Reads where the data is, and how the service uses the database. */
export function readDatabase(reader: Reader) {
  const { folder, read, oneOf, integer } = reader;
  const inFolder = (file: string) => statSync(pathIn(folder, file), { throwIfNoEntry: false });
  const databaseUrl = databaseUrlOf(reader, 'DATABASE_URL');
  const tombstoneSeconds = read('TOMBSTONES', 0, '`off`, `on` or a number of seconds', (text) =>
    text === 'on'
      ? TOMBSTONE_SECONDS
      : text === 'off'
        ? 0
        : /^[1-9]\d{0,9}$/.test(text)
          ? Number(text)
          : undefined,
  );
  return {
    databaseUrl,
    /** The server of DATABASE_URL: one PostgreSQL, or the coordinator of a Citus cluster. */
    databaseEngine: ENGINES[oneOf('DATABASE_ENGINE', ['postgresql', 'citus'])],
    /** The folder with the declarations of collections, as it is named; undefined: those that come with the service. */
    collections: read('COLLECTIONS', inFolder(COLLECTIONS) ? COLLECTIONS : undefined, 'a folder', (text) =>
      inFolder(text)?.isDirectory() ? text : undefined,
    ),
    /** The folder with SQL files that change stored records, as it is named; undefined: there are none. */
    dataChanges: read<string | undefined>('DATA_CHANGES', undefined, 'a folder', (text) =>
      inFolder(text)?.isDirectory() ? text : undefined,
    ),
    /** The folder in which relative ones are; empty: the current one of the process. */
    folder,
    /** Whether the start brings the tables in line with the declarations, or refuses if they are not. */
    migrate: read<'auto' | 'check'>(
      'MIGRATE',
      databaseUrl === undefined ? 'auto' : 'check',
      '`auto` or `check`',
      (text) => (text === 'auto' || text === 'check' ? text : undefined),
    ),
    dbConnections: integer('DB_CONNECTIONS', 3, 1, 100),
    /** Connections for searches, queries and late pages, and for whole lists. */
    dbSearches: 2,
    dbStreams: 4,
    dbTimeoutMs: integer('DB_TIMEOUT_MS', 10_000, 10, 600_000),
    /** How long the start waits for a database that is not there yet; 0: not at all. */
    dbStartMs: integer('DB_START_MS', 300_000, 0, 86_400_000),
    queryTimeoutMs: integer('QUERY_TIMEOUT_MS', 5000, 10, 600_000),
    tombstones: tombstoneSeconds > 0,
    tombstoneTtlSeconds: tombstoneSeconds,
    idempotencyTtlSeconds: integer('IDEMPOTENCY_TTL', 86_400, 1, 31_536_000),
    /** The bytes of stored responses. */
    idempotencyMaxBytes: 268_435_456,
  };
}

/** The setting without which there is no Citus cluster. */
export const engineFaults = ({ databaseEngine, databaseUrl }: ReturnType<typeof readDatabase>): string[] =>
  databaseEngine.isDistributed && databaseUrl === undefined
    ? ['DATABASE_ENGINE=citus needs DATABASE_URL']
    : [];
