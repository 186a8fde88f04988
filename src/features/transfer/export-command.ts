import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { parse } from '../../cli/arguments.js';
import { type Io, UsageError } from '../../cli/io.js';
import { print, withErrors, withOutputFile } from '../../cli/output.js';
import { withDatabase } from '../../cli/with-database.js';
import type { Resource } from '../../collection/resource.js';
import { type BulkConnection, withBulkConnection } from '../../db/bulk-connection.js';
import { fill } from '../../db/statements.js';
import { loadDeclarations } from '../../declarations/load-declarations.js';
import { ExitError } from '../../errors/exit-error.js';
import { type JsonObject, member } from '../../json.js';
import { collectionsWithTables, storedResources } from '../../schema/ensure-collections.js';
import { writeOnlyNames } from '../../validation/validation.js';
import { COMMANDS } from './commands.js';
import { type CellType, cellTypeOf, exportedCell, headerCell } from './csv-cell.js';
import { IMPORT_SQL } from './import-statements.js';
import { type Format, formatByName } from './input.js';

/** Writes records to a file or the standard output. Throws UsageError and ExitError. */
export async function exportCommand(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(COMMANDS, 'export', '', args);
  const [name] = positionals;
  const { output, json } = values;
  const format = (values.format ??
    formatByName(output ?? '') ??
    (name === undefined ? 'json' : 'ndjson')) as Format;
  if (name === undefined && format !== 'json')
    throw new UsageError('all collections together are JSON: name one for another format', 'export');
  if (json && output === undefined)
    throw new UsageError('--json needs -o FILE: the records go to the standard output', 'export');
  await withDatabase(io, async (database, config) => {
    const declarations = await loadDeclarations(config);
    const names = declarations.collections.map((each) => each.name);
    if (name !== undefined && !names.includes(name))
      throw new ExitError(`there is no collection ${name}: there are ${names.join(', ')}`);
    const resources = await storedResources(database, declarations);
    const wanted = resources.filter((each) => name === undefined || each.name === name);
    const stored = await collectionsWithTables(database, names);
    const missing = wanted.filter((each) => !stored.has(each.name)).map((each) => each.name);
    if (missing.length > 0)
      throw new ExitError(
        `the database has no table of ${missing.join(', ')}: plinth migrate or the start of the service creates it`,
      );
    const collections = await withOutput(io, output, (out) =>
      withBulkConnection(database.url, config, (connection) =>
        exportRecords(connection, wanted, name === undefined ? 'whole' : format, out),
      ),
    );
    if (json) print(io, json, { file: output, format, collections }, '');
  });
}

/** Gives `work` a file, which has its name when it is complete, or else the standard output. */
async function withOutput<T>(
  io: Io,
  file: string | undefined,
  work: (out: Writable) => Promise<T>,
): Promise<T> {
  if (file !== undefined) return withOutputFile(io, file, work);
  const ignore = () => undefined;
  io.stdout.on('error', ignore);
  // The reader wants no more.
  return withErrors(io.stdout, () => new ExitError(''), work).finally(() => io.stdout.off('error', ignore));
}

/** A column of CSV. */
interface Column {
  readonly name: string;
  readonly type: CellType;
}

/** The text of a format around and between the records of a collection. Lines are complete documents, their bytes as characters. */
interface Layout {
  readonly open: (columns: readonly Column[]) => string;
  readonly lines: (lines: string, isFirst: boolean, columns: readonly Column[]) => Buffer | string;
  readonly close: (isEmpty: boolean) => string;
}

const JSON_ARRAY: Layout = {
  open: () => '[',
  lines: (lines, isFirst) =>
    Buffer.from(`${isFirst ? '' : ','}\n${lines.slice(0, -1).replaceAll('\n', ',\n')}`, 'latin1'),
  close: (isEmpty) => (isEmpty ? ']\n' : '\n]\n'),
};

/** The layout of each format, and of a file of all collections. */
const LAYOUTS: Readonly<Record<Format | 'whole', Layout>> = {
  ndjson: { open: () => '', lines: (lines) => Buffer.from(lines, 'latin1'), close: () => '' },
  json: JSON_ARRAY,
  whole: { ...JSON_ARRAY, close: (isEmpty) => (isEmpty ? ']' : '\n]') },
  csv: {
    open: (columns) => `${columns.map(({ name }) => headerCell(name)).join(',')}\r\n`,
    lines: (lines, _, columns) =>
      documentsIn(lines)
        .map((record) => columns.map(({ name, type }) => exportedCell(member(record, name), type)).join(','))
        .map((row) => `${row}\r\n`)
        .join(''),
    close: () => '',
  },
};

const documentsIn = (lines: string): JsonObject[] =>
  JSON.parse(`[${Buffer.from(lines.slice(0, -1), 'latin1').toString('utf8').replaceAll('\n', ',')}]`);

/**
 * Writes the records of collections, as one snapshot has them, in the order of their creation. Returns how many there were.
 * Throws the error of the output.
 */
async function exportRecords(
  { run, execute, copyOut }: BulkConnection,
  resources: readonly Resource[],
  format: Format | 'whole',
  out: Writable,
): Promise<readonly { readonly collection: string; readonly records: number }[]> {
  const write = async (text: Buffer | string): Promise<void> => {
    if (out.errored) throw out.errored;
    if (!out.write(text)) await once(out, 'drain');
  };
  const layout = LAYOUTS[format];
  await execute(IMPORT_SQL.begin_export);
  const exported = [];
  for (const resource of resources) {
    const { name: collection, table } = resource;
    if (format === 'whole')
      await write(`${exported.length === 0 ? '{\n' : ',\n'}${JSON.stringify(collection)}: `);
    const columns = format === 'csv' ? await columnsOf(run, resource) : [];
    await write(layout.open(columns));
    let records = 0;
    await copyOut(fill(IMPORT_SQL.copy_documents, { table }), async (rows) => {
      for await (const lines of linesOf(rows)) {
        await write(layout.lines(lines, records === 0, columns));
        for (let at = lines.indexOf('\n'); at >= 0; at = lines.indexOf('\n', at + 1)) records++;
      }
    });
    await write(layout.close(records === 0));
    exported.push({ collection, records });
  }
  if (format === 'whole') await write('\n}\n');
  await execute('commit');
  return exported;
}

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
async function columnsOf(run: BulkConnection['run'], { table, schema }: Resource): Promise<Column[]> {
  const rows = await run(fill(IMPORT_SQL.field_names, { table }), []);
  const hidden = new Set(writeOnlyNames(schema));
  const last = ['created_at', 'updated_at', '_version'];
  const declared = Object.keys(schema.properties).filter((name) => !hidden.has(name));
  const others = rows.map(({ name }) => String(name)).filter((name) => !last.includes(name));
  return [...new Set(['id', ...declared, ...others, ...last])].map((name) => ({
    name,
    type: cellTypeOf(name, schema),
  }));
}
