import type { Json } from '../json.js';

/** A step that a field's value goes through before it is validated, in the order declared. */
export type Normalization = 'trim' | 'nfc' | 'lower' | 'integer';

/** Composition combines up to four characters, each of up to two UTF-16 units. */
const NFC_FACTOR = 8;

/**
 * Each step leaves values of other types to the validator. NFC takes quadratic time for a run of combining characters, so
 * it leaves a text that would still be too long.
 */
const STEPS: Readonly<Record<Normalization, (value: Json, maxLength: number) => Json>> = {
  trim: (value) => (typeof value === 'string' ? value.trim() : value),
  nfc: (value, maxLength) =>
    typeof value === 'string' && value.length <= NFC_FACTOR * maxLength ? value.normalize('NFC') : value,
  lower: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  integer: (value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
};

/** The steps of a field, and the number of characters that a text may have after `nfc`. */
export interface Normalizing {
  readonly steps: readonly Normalization[];
  readonly maxLength: number;
}

/** A value after all steps of its field. */
export const normalized = ({ steps, maxLength }: Normalizing, value: Json): Json =>
  steps.reduce<Json>((result, step) => STEPS[step](result, maxLength), value);
