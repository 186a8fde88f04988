import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { parse } from '../../cli/arguments.js';
import { configOf, type Io, UsageError } from '../../cli/io.js';
import { print, withErrors, withOutputFile } from '../../cli/output.js';
import { failureOf, openForCommand } from '../../cli/with-database.js';
import type { Resource } from '../../collection/resource.js';
import { type BulkConnection, withBulkConnection } from '../../db/bulk-connection.js';
import { problemOf } from '../../db/database-errors.js';
import { fill } from '../../db/statements.js';
import type { DeclaredField } from '../../declarations/declaration.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import { ExitError } from '../../errors/exit-error.js';
import { type JsonObject, member } from '../../json.js';
import { collectionsWithTables, storedResources } from '../../schema/ensure-collections.js';
import { writeOnlyNames } from '../../validation/validation.js';
import { COMMANDS } from './commands.js';
import { type CellType, cellTypeOf, exportedCell, headerCell } from './csv-cell.js';
import { IMPORT_SQL } from './import-statements.js';
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

/** The result of the export of a collection. */
interface Exported {
  readonly collection: string;
  readonly records: number;
}

/**
 * Writes the records of collections, as one snapshot has them, in the order of their creation. Returns how many there were.
 * Throws the error of the output.
 */
async function exportRecords(
  { run, execute, copyOut }: BulkConnection,
  resources: readonly Resource[],
  {
    format,
    isWhole,
  }: { readonly format: Format /** Names the collections: db.json. */; readonly isWhole: boolean },
  out: Writable,
): Promise<readonly Exported[]> {
  const write = async (text: Buffer | string): Promise<void> => {
    if (out.errored) throw out.errored;
    if (!out.write(text)) await once(out, 'drain');
  };
  await execute(IMPORT_SQL.begin_export);
  const exported: Exported[] = [];
  if (isWhole) await write('{\n');
  for (const [at, resource] of resources.entries()) {
    const text = fill(IMPORT_SQL.copy_documents, { table: resource.table });
    if (isWhole) await write(`${at === 0 ? '' : ',\n'}${JSON.stringify(resource.name)}: `);
    const columns = format === 'csv' ? await columnsOf(run, resource) : [];
    let records = 0;
    const [open, close] =
      format === 'csv' ? [headerOf(columns), ''] : format === 'json' ? ['[', ']'] : ['', ''];
    await write(open);
    await copyOut(text, async (rows) => {
      for await (const lines of linesOf(rows)) {
        await write(WRITTEN[format](lines, records === 0, columns));
        for (let at = lines.indexOf('\n'); at >= 0; at = lines.indexOf('\n', at + 1)) records++;
      }
    });
    await write(format === 'json' && records > 0 ? `\n${close}` : close);
    exported.push({ collection: resource.name, records });
  }
  if (isWhole) await write('\n}\n');
  else if (format === 'json') await write('\n');
  await execute('commit');
  return exported;
}

/** A column of CSV. */
interface Column {
  readonly name: string;
  readonly type: CellType;
}

const headerOf = (columns: readonly Column[]) =>
  `${columns.map(({ name }) => headerCell(name)).join(',')}\r\n`;

/** Complete lines of documents, their bytes as characters, in each format. */
const WRITTEN: Readonly<
  Record<Format, (lines: string, isFirst: boolean, columns: readonly Column[]) => Buffer | string>
> = {
  ndjson: (lines) => Buffer.from(lines, 'latin1'),
  json: (lines, isFirst) =>
    Buffer.from(`${isFirst ? '' : ','}\n${lines.slice(0, -1).replaceAll('\n', ',\n')}`, 'latin1'),
  csv: (lines, _, columns) =>
    Buffer.from(lines, 'latin1')
      .toString('utf8')
      .split('\n')
      .slice(0, -1)
      .map((doc) => JSON.parse(doc) as JsonObject)
      .map((record) => columns.map(({ name, type }) => exportedCell(member(record, name), type)).join(','))
      .map((row) => `${row}\r\n`)
      .join(''),
};

/** Complete lines of documents, their bytes as characters: no document contains a line break. */
async function* linesOf(rows: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of rows as AsyncIterable<Buffer>) {
    rest += chunk.toString('latin1');
    const end = rest.lastIndexOf('\n') + 1;
    if (end === 0) continue;
    // The text format of COPY doubles backslashes.
    yield rest.slice(0, end).replaceAll('\\\\', '\\');
    rest = rest.slice(end);
  }
}

/** The service's fields, the declared ones, and those that records have besides. */
async function columnsOf(run: BulkConnection['run'], resource: Resource): Promise<Column[]> {
  const rows = await run(fill(IMPORT_SQL.field_names, { table: resource.table }), []);
  const hidden = new Set(writeOnlyNames(resource.schema));
  const last = ['created_at', 'updated_at', '_version'];
  const declared = Object.keys(resource.schema.properties).filter((name) => !hidden.has(name));
  const others = rows.map(({ name }) => String(name)).filter((name) => !last.includes(name));
  const { properties, required } = resource.schema;
  return [...new Set(['id', ...declared, ...others, ...last])].map((name) => ({
    name,
    type: cellTypeOf(
      Object.hasOwn(properties, name) ? (properties[name] as DeclaredField) : undefined,
      required.includes(name),
    ),
  }));
}
