import { composed } from '../formats/composed-text.js';
import type { Normalization } from '../validation/normalization.js';
import type { Resource } from './resource.js';

/** The part of a stored text that a text of a query is compared with: all of it, its beginning, or any part. */
type Part = 'whole' | 'start' | 'any';

/** A text of a query, changed by the steps of `x-normalize` as the field's values were. */
export function normalizedText({ normalize }: Resource, field: string, text: string, part: Part): string {
  return (normalize[field] ?? []).reduce((result, step) => STEPS[step](result, part), text);
}

const STEPS: Readonly<Record<Normalization, (text: string, part: Part) => string>> = {
  // Spaces at the end of a beginning are within the stored text.
  trim: (text, part) => (part === 'whole' ? text.trim() : part === 'start' ? text.trimStart() : text),
  nfc: composed,
  lower: (text) => text.toLowerCase(),
  integer: (text) => text,
};

/** The text of a search as each of some fields stores it, without texts that differ in ASCII case only. */
export function searchedTexts(resource: Resource, fields: readonly string[], text: string): string[] {
  if (text === '') return [];
  const texts = fields.map((field) => normalizedText(resource, field, text, 'any'));
  const folded = (each: string) => each.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [...new Map(texts.map((each) => [folded(each), each])).values()];
}
