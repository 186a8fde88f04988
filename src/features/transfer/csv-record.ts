import type { Resource } from '../../collection/resource.js';
import type { Origin } from '../../collection/validated-input.js';
import { invalid, invalidBody } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { requireRecordBounds, requireStorable } from '../../http/strict-json.js';
import { escapeToken, type Json, type JsonObject, setMember } from '../../json.js';
import { LONG_TASK_BYTES } from '../../limits/turn.js';
import { type Cell, type CellType, cellTypeOf, readCell, readExportedCell } from './csv-cell.js';
import type { CsvHeader } from './csv-header.js';
import { type CsvRow, cellsOf } from './csv-row.js';
import { LEGACY_ID, oldIdField } from './reference-names.js';

/** The columns of CSV. */
export interface Columns extends Pick<CsvHeader, 'names' | 'nameBytes'> {
  readonly types: readonly CellType[];
  readonly read: (cell: Cell, type: CellType) => Json | undefined;
}

/** The columns of a header. The old id of an import has the type of the field that stores it. */
export function columnsOf(
  header: CsvHeader,
  resource: Resource,
  rename: ReadonlyMap<string, string>,
  origin: Origin,
): Columns {
  const fields = header.names.map((name) => (name === undefined ? '' : (rename.get(name) ?? name)));
  const idField = origin === 'import' ? oldIdField(fields, resource) : undefined;
  const types = fields.map((field) => cellTypeOf(field === idField ? LEGACY_ID : field, resource.schema));
  const { names, nameBytes, isExport } = header;
  return { names, nameBytes, types, read: isExport ? readExportedCell : readCell };
}

/** Bytes of JSON for one of CSV, at most: an escape, or the quotation marks, the colon and the comma of an empty cell. */
const JSON_FACTOR = 6;

/** A record from a row of CSV, which has `size` of these bytes; undefined: no cell has a value. Throws invalidBody. */
export function csvRecord(
  all: Buffer,
  row: CsvRow,
  size: number,
  { names, nameBytes, types, read }: Columns,
  maxBytes: number,
): JsonObject | undefined {
  const cells = cellsOf(all, row);
  if (cells.length > names.length)
    throw invalidBody(`has ${cells.length} cells, the header has ${names.length}`, 'cells');
  const record: JsonObject = {};
  const failures: Failure[] = [];
  let isEmpty = true;
  for (const [at, text] of cells.entries()) {
    const [name, isQuoted] = [names[at], row.isQuoted[at]!];
    if (text !== '' || isQuoted) isEmpty = false;
    if (name === undefined) {
      if (text !== '') throw invalidBody(`has a value in column ${at + 1}, which has no name`, 'cells');
      continue;
    }
    try {
      const value = read({ text, isQuoted }, types[at]!);
      if (value !== undefined) setMember(record, name, value);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      for (const failure of error.more.details as readonly Failure[])
        failures.push({ ...failure, path: `/${escapeToken(name)}${failure.path}` });
    }
  }
  if (isEmpty) return undefined;
  if (failures.length > 0) throw invalid(failures);
  // A shorter text cannot have more members, objects or bytes than a record may have.
  if (JSON_FACTOR * (nameBytes + size) > LONG_TASK_BYTES) requireRecordBounds(record, maxBytes);
  else requireStorable(record);
  return record;
}
