import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';
import type { Json } from '../json.js';
import { spend } from './work-limit.js';

/** Work for each value, for each part of a canonical text, and for a character. */
const [VALUE_UNITS, PART_UNITS, CHARACTER_UNITS] = [12, 20, 0.5];

/** The text of a value that equal values have, whatever the order of their members. */
export function canonicalText(value: Json): string {
  spend(PART_UNITS + (typeof value === 'string' ? value.length * CHARACTER_UNITS : 0));
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const each of value) text += `${canonicalText(each)},`;
    return `[${text}]`;
  }
  const keys = Object.keys(value);
  if (keys.length > 1) keys.sort();
  for (const key of keys) text += `${canonicalText(key)}:${canonicalText(value[key]!)},`;
  return `{${text}}`;
}

/**
 * A value or, of an object or array, a text: equal values have equal ones. Texts of all values would take several times as
 * long. No text of a body begins like these.
 */
function keyOf(value: Json): Json {
  if (typeof value === 'object' && value !== null) return `\0${canonicalText(value)}`;
  spend(VALUE_UNITS + (typeof value === 'string' ? value.length * CHARACTER_UNITS : 0));
  return value;
}

/** Whether a value is one of some, in constant time. */
export function membership(values: readonly Json[]): (value: Json) => boolean {
  const keys = new Set(values.map(keyOf));
  const isPlain = !values.some((each) => typeof each === 'object' && each !== null);
  return (value) => !(isPlain && typeof value === 'object' && value !== null) && keys.has(keyOf(value));
}

const validate: SchemaValidateFunction = (isOn: boolean, items: readonly Json[]) => {
  if (!isOn) return true;
  const indexes = new Map<Json, number>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    const other = indexes.get(key);
    if (other === undefined) {
      indexes.set(key, index);
      continue;
    }
    validate.errors = [{ keyword: 'uniqueItems', params: { i: index, j: other } }];
    return false;
  }
  return true;
};

/** `uniqueItems` in linear time: the validator's own compares each two items. */
export const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate,
  errors: true,
};
