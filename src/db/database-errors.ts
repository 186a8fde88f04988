import { Problem } from '../errors/problem.js';
import { badRequest } from '../errors/request-errors.js';
import { insufficientStorage, unavailable } from '../errors/service-errors.js';
import { NETWORK_ERRORS } from './pool/server-socket.js';

/** The error of a failed statement; `code` is a SQLSTATE, or the driver's code for a lost connection. */
export interface DatabaseError {
  readonly code: string;
  readonly constraint_name?: string;
  /** The table with the violated constraint. */
  readonly table_name?: string;
  /** Which values violate a constraint. */
  readonly detail?: string;
}

/** An error of the driver or the server; undefined for any other. */
export function databaseErrorOf(error: unknown): DatabaseError | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? (error as DatabaseError) : undefined;
}

export const UNIQUE_VIOLATION = '23505';
export const FOREIGN_KEY_VIOLATION = '23503';
/** A deletion that a foreign key with `on delete restrict` prevents. */
export const RESTRICT_VIOLATION = '23001';

/**
 * Whether the server refused a statement for its data, or for a concurrent write: it had no effect, and another statement
 * may succeed. After a lost connection or a shutdown the effect is unknown.
 */
export function isDataError(error: unknown): boolean {
  return /^(?:22|23|40|54)/.test(databaseErrorOf(error)?.code ?? '');
}

/** The condition of a SQLSTATE or connection error, as clients see it; undefined: an internal error. */
export function problemOf(error: unknown): Problem | undefined {
  const code = databaseErrorOf(error)?.code ?? '';
  return TABLE[code]?.() ?? TABLE[code.slice(0, 2)]?.();
}

/** The problem that an error is, or that an error of the database causes; undefined: an internal error. */
export const knownProblem = (error: unknown): Problem | undefined =>
  error instanceof Problem ? error : problemOf(error);

const away = () => unavailable('The database is not available.');
const busy = () => unavailable('The database is busy.');
const unfit = () => badRequest('The request holds a value that the database cannot store.');

export const STATEMENT_TIMEOUT = '57014';
export const LOCK_NOT_AVAILABLE = '55P03';

/** By whole code, or by class (its first two characters). */
const TABLE: Readonly<Record<string, () => Problem>> = {
  '08': away, // connection exceptions
  '25006': away, // read-only: a standby, or a primary that was demoted
  '25P03': away, // idle in a transaction for too long
  '28': away, // login refused
  '3D000': away, // no such database
  '40001': busy, // serialisation failure
  '40P01': busy, // deadlock
  '53': busy, // out of connections or memory
  '53100': insufficientStorage,
  '55000': away, // the database accepts no connections
  [LOCK_NOT_AVAILABLE]: busy,
  [STATEMENT_TIMEOUT]: busy,
  '57P01': away, // shut down by an administrator
  '57P02': away, // crashed
  '57P03': away, // starting up
  '57P05': away, // idle session timeout
  '58': away, // disk failure
  '22003': unfit, // number out of range
  '22021': unfit, // not in the encoding
  '22P02': unfit, // not of the type
  '22P05': unfit, // U+0000
  '54001': unfit, // nested too deeply
  ...Object.fromEntries([...NETWORK_ERRORS].map((code) => [code, away])),
  CONNECT_TIMEOUT: away,
  CONNECTION_DESTROYED: away,
  CONNECTION_ENDED: away,
  EACCES: away,
  EAI_AGAIN: away,
  EMFILE: busy, // this process has no file descriptor left
  ENFILE: busy,
  ENOBUFS: busy,
  ENOENT: away,
  ENOMEM: busy,
  ENOTFOUND: away,
  SASL_SIGNATURE_MISMATCH: away,
  TLS_FAILED: away,
};
