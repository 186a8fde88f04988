import type { DeclaredField } from './declaration.js';

/** The schemas of the usual types of fields, by their words. */
export const FIELD_TYPES: Readonly<Record<string, DeclaredField>> = {
  string: { type: 'string' },
  text: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  'date-time': { type: 'string', format: 'date-time' },
  strings: { type: 'array', items: { type: 'string' } },
  object: { type: 'object' },
};

export const referenceTo = (to: string): DeclaredField => ({
  type: 'string',
  format: 'uuid',
  'x-references': to,
});

export const referencesTo = (to: string): DeclaredField & { readonly uniqueItems: boolean } => ({
  type: 'array',
  items: { type: 'string', format: 'uuid', 'x-references': to, 'x-on-delete': 'remove' },
  maxItems: 100,
  uniqueItems: true,
});

/** The declaration of a new collection, without its fields. */
export const newDeclaration = (name: string) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: titleOf(name),
  type: 'object' as const,
});

/** `order_lines` is Order line. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
