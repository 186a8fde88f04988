import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';
import type { Json } from '../json.js';
import { spend } from './work-limit.js';

/** The text of a value that equal values have, whatever the order of their members. */
export function canonicalText(value: Json): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const each of value) text += `${canonicalText(each)},`;
    return `[${text}]`;
  }
  const keys = Object.keys(value);
  if (keys.length > 1) keys.sort();
  for (const key of keys) text += `${JSON.stringify(key)}:${canonicalText(value[key]!)},`;
  return `{${text}}`;
}

/** Work for each item, and characters whose comparison is one unit of work. */
const [ITEM_UNITS, CHARACTERS] = [18, 4];

const validate: SchemaValidateFunction = (isOn: boolean, items: readonly Json[]) => {
  if (!isOn) return true;
  const [values, texts] = [new Set<Json>(), new Set<Json>()];
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!;
    // Texts of all values would take several times as long. A text of an object is no value that is a text.
    const isPlain = typeof item !== 'object';
    const key = isPlain ? item : canonicalText(item);
    spend(ITEM_UNITS + (typeof key === 'string' ? Math.ceil(key.length / CHARACTERS) : 0));
    const seen = isPlain ? values : texts;
    const before = seen.size;
    if (seen.add(key).size > before) continue;
    const isEqual = (other: Json) => (typeof other === 'object' ? canonicalText(other) : other) === key;
    const other = items.findIndex((each) => (typeof each !== 'object') === isPlain && isEqual(each));
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
