import { createWriteStream, renameSync, rmSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { readConfig } from '../config/config.js';
import { withBulkConnection } from '../db/bulk-connection.js';
import { problemOf } from '../db/database-errors.js';
import { openDatabase } from '../db/open.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { ExitError } from '../exit-error.js';
import { createLog } from '../telemetry/log.js';
import { type Exported, exportRecords } from '../transfer/export-records.js';
import { EXTENSIONS, type Format } from '../transfer/input.js';
import { parse } from './arguments.js';
import { exitOnSignals, OutputError, UsageError } from './exit.js';
import { print } from './output.js';
import { failureOf } from './with-database.js';

/** Writes records to a file or the standard output. Throws UsageError and ExitError. */
export async function exportCommand(args: string[]): Promise<void> {
  const { values, positionals } = parse('export', '', args);
  const [name, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError('name one collection, or none', 'export');
  const byName = EXTENSIONS[/\.([a-z]+)$/i.exec(values.output ?? '')?.[1]?.toLowerCase() ?? ''];
  const format = values.format ?? byName ?? (name === undefined ? 'json' : 'ndjson');
  if (name === undefined && format !== 'json')
    throw new UsageError('all collections together are JSON: name one for another format', 'export');
  const { output, json } = values;
  if (json && output === undefined)
    throw new UsageError('--json needs -o FILE: the records go to the standard output', 'export');
  const counts = await run(name, format as Format, output);
  if (json) print(json, { file: output, format, collections: counts }, '');
}

/** Returns the number of records of each collection. */
async function run(
  name: string | undefined,
  format: Format,
  output: string | undefined,
): Promise<readonly Exported[]> {
  const config = readConfig();
  const resources = resourcesOf(await loadDeclarations(config));
  const wanted = resources.filter((each) => name === undefined || each.name === name);
  if (wanted.length === 0)
    throw new ExitError(
      `there is no collection ${name}: there are ${resources.map((each) => each.name).join(', ')}`,
    );
  exitOnSignals();
  const database = await openDatabase(config, createLog(config.logLevel), { join: true });
  try {
    return await withOutput(output, (out) =>
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

/** Gives a file its name when it is complete. */
async function withOutput<T>(file: string | undefined, work: (out: Writable) => Promise<T>): Promise<T> {
  if (file === undefined) {
    // Its reader wants no more.
    process.stdout.on('error', () => process.exit(1));
    return work(process.stdout);
  }
  const part = `${file}.${process.pid}.part`;
  const remove = () => rmSync(part, { force: true });
  const out = createWriteStream(part, { highWaterMark: 1_048_576 });
  const failed = new Promise<never>((_, reject) => {
    out.once('error', (error) => reject(new OutputError(`${file} cannot be written: ${error.message}`)));
  });
  process.once('exit', remove);
  const result = await Promise.race([failed, work(out)]);
  out.end();
  await Promise.race([failed, finished(out)]);
  renameSync(part, file);
  return result;
}
