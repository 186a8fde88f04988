import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { fill } from '../../db/statements.js';
import type { DeclaredField } from '../../declarations/declaration.js';
import { type JsonObject, member } from '../../json.js';
import { writeOnlyNames } from '../../validation/validation.js';
import { type CellType, cellTypeOf, exportedCell, headerCell } from './csv-cell.js';
import { IMPORT_SQL } from './import-statements.js';
import type { Format } from './input.js';

/** The result of the export of a collection. */
export interface Exported {
  readonly collection: string;
  readonly records: number;
}

/**
 * Writes the records of collections, as one snapshot has them, in the order of their creation. Returns how many there were.
 * Throws the error of the output.
 */
export async function exportRecords(
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
