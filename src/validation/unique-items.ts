import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';
import type { Json } from '../json.js';
import { spend } from './work-limit.js';

/** The text of a value that equal values have, whatever the order of their members. */
export function canonicalText(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalText(value[key]!)}`);
  return `{${members.join(',')}}`;
}

/** Characters whose comparison is one unit of work. */
const CHARACTERS = 4;

const validate: SchemaValidateFunction = (isOn: boolean, items: readonly Json[]) => {
  if (!isOn) return true;
  const seen = { values: new Map<Json, number>(), texts: new Map<Json, number>() };
  for (const [index, item] of items.entries()) {
    // Texts of all values would take several times as long. A text of an object is no value that is a text.
    const isPlain = typeof item !== 'object';
    const key = isPlain ? item : canonicalText(item);
    spend(typeof key === 'string' ? Math.ceil(key.length / CHARACTERS) : 1);
    const found = isPlain ? seen.values : seen.texts;
    const other = found.get(key);
    if (other === undefined) {
      found.set(key, index);
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
