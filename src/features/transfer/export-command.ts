import type { Writable } from 'node:stream';
import { parse } from '../../cli/arguments.js';
import { configOf, type Io, UsageError } from '../../cli/io.js';
import { print, withErrors, withOutputFile } from '../../cli/output.js';
import { failureOf, openForCommand } from '../../cli/with-database.js';
import { withBulkConnection } from '../../db/bulk-connection.js';
import { problemOf } from '../../db/database-errors.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import { ExitError } from '../../errors/exit-error.js';
import { collectionsWithTables, storedResources } from '../../schema/ensure-collections.js';
import { COMMANDS } from './commands.js';
import { type Exported, exportRecords } from './export-records.js';
import { EXTENSIONS, type Format } from './input.js';

/** Writes records to a file or the standard output. Throws UsageError and ExitError. */
export async function exportCommand(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(COMMANDS, 'export', '', args);
  const [name] = positionals;
  const byName = EXTENSIONS[/\.([a-z]+)$/i.exec(values.output ?? '')?.[1]?.toLowerCase() ?? ''];
  const format = values.format ?? byName ?? (name === undefined ? 'json' : 'ndjson');
  if (name === undefined && format !== 'json')
    throw new UsageError('all collections together are JSON: name one for another format', 'export');
  const { output, json } = values;
  if (json && output === undefined)
    throw new UsageError('--json needs -o FILE: the records go to the standard output', 'export');
  const counts = await run(io, name, format as Format, output);
  if (json) print(io, json, { file: output, format, collections: counts }, '');
}

/** Returns the number of records of each collection. */
async function run(
  io: Io,
  name: string | undefined,
  format: Format,
  output: string | undefined,
): Promise<readonly Exported[]> {
  const config = configOf(io);
  const declarations = await loadDeclarations(config);
  const names = declarations.collections.map((each) => each.name);
  if (name !== undefined && !names.includes(name))
    throw new ExitError(`there is no collection ${name}: there are ${names.join(', ')}`);
  io.process?.exitOnSignals();
  const database = await openForCommand(io, config);
  try {
    const resources = await storedResources(database, declarations);
    const wanted = resources.filter((each) => name === undefined || each.name === name);
    const stored = await collectionsWithTables(database, names);
    const missing = wanted.filter((each) => !stored.has(each.name)).map((each) => each.name);
    if (missing.length > 0)
      throw new ExitError(
        `the database has no table of ${missing.join(', ')}: plinth migrate or the start of the service creates it`,
      );
    return await withOutput(io, output, (out) =>
      withBulkConnection(database.url, config, (connection) =>
        exportRecords(connection, wanted, { format, isWhole: name === undefined }, out),
      ),
    );
  } catch (error) {
    const problem = problemOf(error);
    throw problem ? failureOf(problem, `the records cannot be read: ${problem.message}`) : error;
  } finally {
    await database.close();
  }
}

/** Gives `work` a file, which has its name when it is complete, or else the standard output. */
async function withOutput<T>(
  io: Io,
  file: string | undefined,
  work: (out: Writable) => Promise<T>,
): Promise<T> {
  const ignore = () => undefined;
  if (file === undefined) {
    io.stdout.on('error', ignore);
    // The reader wants no more.
    return withErrors(io.stdout, () => new ExitError(''), work).finally(() => io.stdout.off('error', ignore));
  }
  return withOutputFile(io, file, work);
}
