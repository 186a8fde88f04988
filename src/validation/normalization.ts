import { composed } from '../formats/composed-text.js';
import type { Json } from '../json.js';

/** A step that a field's value goes through before it is validated, in the order declared. */
export type Normalization = 'trim' | 'nfc' | 'lower' | 'integer';

/** The part of a stored text that a text of a query is compared with: all of it, its beginning, or any part. */
type Part = 'whole' | 'start' | 'any';

const STEPS: Readonly<Record<Normalization, (text: string, part: Part) => Json>> = {
  // Spaces at the end of a beginning are within the stored text.
  trim: (text, part) => (part === 'whole' ? text.trim() : part === 'start' ? text.trimStart() : text),
  nfc: composed,
  lower: (text) => text.toLowerCase(),
  integer: (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text),
};

/** A value after all steps of its field, or a part of a text. Steps leave values of other types to the validator. */
export function normalized(steps: readonly Normalization[], value: Json, part: Part = 'whole'): Json {
  let result = value;
  for (const step of steps) if (typeof result === 'string') result = STEPS[step](result, part);
  return result;
}
