import { embeddedOf } from '../app/open-features.js';
import type { Resource } from '../collection/resource.js';
import type { Config } from '../config/config.js';
import { AUTH_SQL } from '../db/core-statements.js';
import { knownProblem } from '../db/database-errors.js';
import { type Database, openDatabase } from '../db/open-database.js';
import { loadDeclarations } from '../declarations/load-declarations.js';
import { ExitError, UnavailableError } from '../errors/exit-error.js';
import type { Failure, Problem } from '../errors/problem.js';
import { ensureCollections, storedResources } from '../schema/ensure-collections.js';
import { createLog, type Log, readableLines } from '../telemetry/log.js';
import { configOf, type Io } from './io.js';

/** Runs work on what a command opens, and closes it. Throws ExitError for a Problem. */
export async function withOpen<T extends { close(): Promise<void> }, R>(
  io: Io,
  open: () => Promise<T>,
  work: (opened: T) => Promise<R>,
): Promise<R> {
  io.process?.exitOnSignals();
  const opened = await open();
  try {
    return await work(opened);
  } catch (error) {
    throw endOfError(error);
  } finally {
    await opened.close();
  }
}

/** Runs work on the database, also on the embedded one of a running service. Throws ExitError for a Problem. */
export const withDatabase = (
  io: Io,
  work: (database: Database, config: Config) => Promise<void>,
  config: Config = configOf(io),
): Promise<void> =>
  withOpen(
    io,
    () => openForCommand(io, config),
    (database) => work(database, config),
  );

/** Runs work on the database with the collections of the declarations, whose tables it brings in line. Throws ExitError. */
export const withResources = (
  io: Io,
  work: (resources: readonly Resource[], database: Database, config: Config) => Promise<void>,
): Promise<void> =>
  withDatabase(io, async (database, config) => {
    const declarations = await loadDeclarations(config);
    await ensureCollections(database, declarations, config.migrate, logOf(io, config));
    await work(await storedResources(database, declarations), database, config);
  });

/** Opens the database for a command, also the embedded one of a running service. Throws ExitError. */
export const openForCommand = (io: Io, config: Config): Promise<Database> =>
  openDatabase(config, logOf(io, config), { join: true, openEmbedded: embeddedOf(io.features) });

/** The log of a command: its results are on the standard output. */
export function logOf({ stderr }: Io, { logLevel }: Config): Log {
  return createLog(logLevel, stderr.isTTY ? readableLines(stderr) : stderr);
}

/** An error as the end of a command, if it is known. */
function endOfError(error: unknown): unknown {
  const problem = knownProblem(error);
  return problem ? endOf(problem) : error;
}

/** A Problem as the end of a command; a 503 is one of the database. */
export const endOf = (problem: Problem): ExitError =>
  problem.status === 503 ? new UnavailableError(messageOf(problem)) : new ExitError(messageOf(problem));

function messageOf({ code, message, more }: Problem): string {
  if (code !== 'VALIDATION_ERROR') return message;
  return (more.details as readonly Failure[]).map(({ path, message }) => `${path} ${message}`).join('; ');
}

/** The id of the user with an email. Throws ExitError if there is none. */
export async function idOf({ db }: Pick<Database, 'db'>, email: string): Promise<string> {
  const [row] = await db.run(AUTH_SQL.user_of_email, [email.trim().normalize('NFC').toLowerCase()]);
  if (!row) throw new ExitError(`there is no user ${email}`);
  return String(row.id);
}
