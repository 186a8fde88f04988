import { existsSync, statSync } from 'node:fs';
import type { Reader } from './env-reader.js';
import { parseDatabaseUrl, parseReadUrl } from './parsers.js';

const COLLECTIONS = './collections';

/** Reads where the data is, and how the service uses the database. */
export function readDatabase({ read, optional, oneOf, integer, flag }: Reader) {
  const databaseUrl = optional(
    'DATABASE_URL',
    'a URL, postgres://user:password@host/database; several hosts are separated by commas, and target_session_attrs may be `primary` or `read-write`',
    parseDatabaseUrl,
  );
  return {
    databaseUrl,
    /** The server of DATABASE_URL: one PostgreSQL, or the coordinator of a Citus cluster. */
    databaseEngine: oneOf('DATABASE_ENGINE', ['postgresql', 'citus']),
    /** The replicas that read; undefined: the primary does. */
    databaseReadUrl: optional(
      'DATABASE_READ_URL',
      'a URL, postgres://user:password@host/database; several hosts are separated by commas',
      parseReadUrl,
    ),
    readMaxAgeMs: integer('READ_MAX_AGE_MS', 10_000, 100, 600_000),
    /** The folder with the declarations of collections; undefined: those that come with the service. */
    collections: read('COLLECTIONS', existsSync(COLLECTIONS) ? COLLECTIONS : undefined, 'a folder', (text) =>
      statSync(text, { throwIfNoEntry: false })?.isDirectory() ? text : undefined,
    ),
    /** Whether the start brings the tables in line with the declarations, or refuses if they are not. */
    migrate: read<'auto' | 'check'>(
      'MIGRATE',
      databaseUrl === undefined ? 'auto' : 'check',
      '`auto` or `check`',
      (text) => (text === 'auto' || text === 'check' ? text : undefined),
    ),
    dataDir: read('DATA_DIR', './data', 'a path', (text) => text),
    dbConnections: integer('DB_CONNECTIONS', 3, 1, 100),
    dbSearches: integer('DB_SEARCHES', 2, 1, 100),
    dbStreams: integer('DB_STREAMS', 4, 1, 100),
    /** Statements that run or wait; one more is a 503. */
    dbQueue: 2000,
    dbTimeoutMs: integer('DB_TIMEOUT_MS', 10_000, 10, 600_000),
    queryTimeoutMs: integer('QUERY_TIMEOUT_MS', 5000, 10, 600_000),
    tombstones: flag('TOMBSTONES'),
    tombstoneTtlSeconds: integer('TOMBSTONE_TTL', 2_592_000, 1, 3_153_600_000),
    idempotencyTtlSeconds: integer('IDEMPOTENCY_TTL', 86_400, 1, 31_536_000),
    idempotencyMaxBytes: integer('IDEMPOTENCY_MAX_BYTES', 268_435_456, 1_048_576, 999_999_999_999),
  };
}

/** What cannot be combined with a Citus cluster. */
export function engineFaults(config: {
  readonly databaseEngine: string;
  readonly databaseUrl: string | undefined;
  readonly databaseReadUrl: string | undefined;
}): string[] {
  if (config.databaseEngine !== 'citus') return [];
  return [
    ...(config.databaseUrl === undefined ? ['DATABASE_ENGINE=citus needs DATABASE_URL'] : []),
    ...(config.databaseReadUrl === undefined
      ? []
      : ['DATABASE_READ_URL cannot be combined with DATABASE_ENGINE=citus']),
  ];
}
