import { composed } from '../formats/composed-text.js';
import type { Json } from '../json.js';

/** A step that a field's value goes through before it is validated, in the order declared. */
export type Normalization = 'trim' | 'nfc' | 'lower' | 'integer';

/** Each step leaves values of other types to the validator. */
const STEPS: Readonly<Record<Normalization, (value: Json) => Json>> = {
  trim: (value) => (typeof value === 'string' ? value.trim() : value),
  nfc: (value) => (typeof value === 'string' ? composed(value) : value),
  lower: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  integer: (value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
};

/** A value after all steps of its field. */
export function normalized(steps: readonly Normalization[], value: Json): Json {
  let result = value;
  for (const step of steps) result = STEPS[step](result);
  return result;
}
