import type { Resource } from '../../collection/resource.js';
import type { DeclaredField } from '../../declarations/declaration.js';
import { invalidBody } from '../../errors/input-errors.js';
import { inexactNumber } from '../../http/strict-json.js';
import type { Json } from '../../json.js';

/** How the cells of a column are read and written. */
export interface CellType {
  /** The types of the declared field; none: it has any. */
  readonly types: readonly string[];
  /** Whether an empty text is a value of the field. */
  readonly holdsEmpty: boolean;
  /** Whether a record must have the field, which may be null. */
  readonly isNullRequired: boolean;
}

/** The type of a column whose field is not declared. */
export const ANY: CellType = { types: [], holdsEmpty: true, isNullRequired: false };

/** The type of the column of a field. */
export function cellTypeOf(name: string, { properties, required }: Resource['schema']): CellType {
  if (!Object.hasOwn(properties, name)) return ANY;
  const field = properties[name] as DeclaredField;
  const types = field.type === undefined ? [] : [field.type].flat();
  const { enum: values, minLength = 0 } = field as { enum?: readonly Json[]; minLength?: number };
  return {
    types,
    holdsEmpty:
      field.format === undefined &&
      field['x-references'] === undefined &&
      minLength === 0 &&
      (values === undefined || values.includes('')),
    isNullRequired: required.includes(name) && types.includes('null'),
  };
}

const isText = ({ types }: CellType) =>
  types.includes('string') && types.every((type) => type === 'string' || type === 'null');
const hasText = ({ types }: CellType) => types.length === 0 || types.includes('string');

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** The beginning of a cell that is JSON where text is possible too: an object, an array, or a text that could be one. */
const JSON_START = /^[[{"]/;

/** A cell of a row. */
export interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** A cell of any file as a value; undefined: it has none. Throws invalidBody for a number that does not fit a double. */
export function readCell({ text, isQuoted }: Cell, type: CellType): Json | undefined {
  if (text === '') {
    if (isQuoted && hasText(type) && type.holdsEmpty) return '';
    return type.isNullRequired ? null : undefined;
  }
  return hasText(type) ? text : typedValue(text, type.types);
}

/** A cell of an export, which distinguishes text from other values. Throws as readCell. */
export function readExportedCell(cell: Cell, type: CellType): Json | undefined {
  const { text, isQuoted } = cell;
  if (text === '' && isQuoted && hasText(type)) return '';
  if (text === '' || isText(type) || !hasText(type)) return readCell(cell, type);
  return JSON_START.test(text) || (!isQuoted && isLiteral(text)) ? parsed(text) : text;
}

/** Characters of a cell that is inferred as a number. */
const MAX_NUMBER = 30;

/** A cell of a file whose fields are not declared: a number or a boolean where it is one. */
export function readInferredCell({ text }: Cell): Json | undefined {
  if (text === '') return undefined;
  if (text.length <= MAX_NUMBER && isExactNumber(text)) return Number(text);
  return /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : text;
}

/** A value in a cell of an export, as readExportedCell reads it: bare, or within quotation marks. */
export function exportedCell(value: Json | undefined, type: CellType): string {
  if (value === undefined || (value === null && !hasText(type))) return '';
  if (value === null) return isText(type) ? '' : 'null';
  if (typeof value !== 'string') return quotedIfNeeded(JSON.stringify(value));
  if (value === '') return '""';
  if (!isText(type) && hasText(type) && JSON_START.test(value)) return quoted(JSON.stringify(value));
  return isLiteral(value) ? quoted(value) : quotedIfNeeded(value);
}

/** The name of a column, which is quoted if a reader could take a part of it for a delimiter. */
export const headerCell = (name: string): string =>
  name === '' || /[;\t|]/.test(name) ? quoted(name) : quotedIfNeeded(name);

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const quotedIfNeeded = (text: string) => (/[",\r\n]/.test(text) ? quoted(text) : text);

/** A cell of a field that holds no text; what is none of its values is returned as text, which is refused. */
function typedValue(text: string, types: readonly string[]): Json {
  const isNumber = types.includes('number') || types.includes('integer');
  if (isNumber && NUMBER.test(text)) return parsed(text);
  if (types.includes('boolean') && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  return types.includes('array') || types.includes('object') ? parsed(text) : text;
}

/** Whether a text is JSON for null, a boolean or a number. */
const isLiteral = (text: string) => /^(?:null|true|false)$/.test(text) || NUMBER.test(text);

/** The value of JSON; another text is itself. Throws invalidBody for a number whose value changes when it is read as a double. */
function parsed(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return text;
  }
  requireExact(text);
  return value;
}

/** Whether a text is a number that a double holds, in the only form that its value has. */
export const isExactNumber = (text: string): boolean =>
  NUMBER.test(text) && inexactNumber(text) === undefined;

/** Throws invalidBody for JSON with a number whose value changes when it is read as a double. */
export function requireExact(text: string): void {
  const found = inexactNumber(text);
  if (found !== undefined)
    throw invalidBody(`a number that does not fit a double: ${found.slice(0, 40)}`, 'number');
}
