import { isUtf8 } from 'node:buffer';
import type { Resource } from '../collection/resource.js';
import type { DeclaredField } from '../declarations/declaration.js';
import { invalidBody } from '../errors/errors.js';
import { payloadTooLarge } from '../errors/limit-errors.js';
import { requireStorable } from '../http/strict-json.js';
import { type Json, type JsonObject, setMember } from '../json.js';
import { LEGACY_ID, oldIdField } from './record-id.js';

/** The cells of a row of CSV (RFC 4180). */
export function csvCells(row: string): string[] {
  const cells: string[] = [];
  let at = 0;
  do {
    if (row[at] === '"') {
      let cell = '';
      for (at++; at < row.length; at++) {
        if (row[at] !== '"') cell += row[at];
        else if (row[at + 1] === '"') cell += row[at++];
        else break;
      }
      const end = row.indexOf(',', at + 1);
      cells.push(cell);
      at = end < 0 ? row.length + 1 : end + 1;
    } else {
      const end = row.indexOf(',', at);
      cells.push(row.slice(at, end < 0 ? row.length : end));
      at = end < 0 ? row.length + 1 : end + 1;
    }
  } while (at <= row.length);
  return cells;
}

/** The columns of CSV. */
export interface Columns {
  readonly names: readonly string[];
  /** The types of each, by the declared fields. */
  readonly types: readonly (readonly string[])[];
}

/** The columns with these names in the header. The old id has the type of the field that stores it. */
export function columnsOf(
  header: readonly string[],
  resource: Resource,
  rename: ReadonlyMap<string, string>,
): Columns {
  const { properties } = resource.schema;
  const fields = header.map((name) => rename.get(name) ?? name);
  const idField = oldIdField(fields, resource);
  const types = fields.map((field) => {
    const { type } = (properties[field === idField ? LEGACY_ID : field] ?? {}) as DeclaredField;
    return type === undefined ? [] : [type].flat();
  });
  return { names: header, types };
}

/** A record from a row of CSV. An empty cell is no value. Throws invalidBody. */
export function csvRecord(bytes: Buffer, { names, types }: Columns, maxBytes: number): JsonObject {
  if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
  if (!isUtf8(bytes)) throw invalidBody('is not UTF-8', 'encoding');
  const cells = csvCells(bytes.toString('utf8'));
  if (cells.length > names.length)
    throw invalidBody(`has ${cells.length} cells, the header has ${names.length}`, 'cells');
  const record: JsonObject = {};
  for (const [at, cell] of cells.entries())
    if (cell !== '') setMember(record, names[at]!, typedCell(cell, types[at]!));
  requireStorable(record);
  return record;
}

/** A cell as a value of one of the types; if it is none, as text. */
export function typedCell(cell: string, types: readonly string[]): Json {
  if (types.includes('string')) return cell;
  const isNumber = types.includes('number') || types.includes('integer');
  if (isNumber && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(cell)) return Number(cell);
  if (types.includes('boolean') && /^(?:true|false)$/i.test(cell)) return cell.toLowerCase() === 'true';
  if (!types.includes('array') && !types.includes('object')) return cell;
  try {
    return JSON.parse(cell) as Json;
  } catch {
    return cell;
  }
}

/** A row of CSV. Objects and arrays are JSON in their cell; null and absent values are empty. */
export function csvRow(values: readonly (Json | undefined)[]): string {
  return `${values.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
