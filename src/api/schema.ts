import type { JsonObject } from '../json.js';

/** A JSON Schema, draft 2020-12. */
export type Schema = JsonObject;

export const ref = (kind: string, name: string): JsonObject => ({ $ref: `#/components/${kind}/${name}` });

export const schemaRef = (name: string): Schema => ref('schemas', name);

export const arrayOf = (items: Schema): Schema => ({ type: 'array', items });

export const objectOf = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
): Schema => ({ type: 'object', properties: { ...properties }, required: [...required] });
