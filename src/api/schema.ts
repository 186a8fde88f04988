import type { JsonObject } from '../json.js';

/** A JSON Schema, draft 2020-12. */
export type Schema = JsonObject;

export const TEXT: Schema = { type: 'string' };
export const TEXT_OR_NULL: Schema = { type: ['string', 'null'] };
export const TIME: Schema = { type: 'string', format: 'date-time' };
export const TIME_OR_NULL: Schema = { type: ['string', 'null'], format: 'date-time' };
export const ID: Schema = { type: 'string', format: 'uuid' };
export const TEXTS: Schema = { type: 'array', items: TEXT };

export const ref = (kind: string, name: string): JsonObject => ({ $ref: `#/components/${kind}/${name}` });

export const schemaRef = (name: string): Schema => ref('schemas', name);

export const arrayOf = (items: Schema): Schema => ({ type: 'array', items });

export const objectOf = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
): Schema => ({ type: 'object', properties: { ...properties }, required: [...required] });

/** The schema of a page of a list of the service's own. */
export const listOf = (name: string): Schema =>
  objectOf({
    data: arrayOf(schemaRef(name)),
    meta: schemaRef('CursorMeta'),
    links: schemaRef('CursorLinks'),
  });
