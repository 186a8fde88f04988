import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import { inPlace } from './field-keywords.js';
import { baseIn, NEVER, type SchemaFiles, type SchemaNode } from './schema-files.js';
import type { Parts } from './value-bounds.js';

/** The schema that a part has at a place, where it has one. `true` restricts nothing. */
export function partsAt(node: SchemaNode, tokens: readonly string[]): SchemaNode[] {
  let value: Json | undefined = node.schema;
  for (const token of tokens) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return [];
    value = (value as JsonObject)[token];
  }
  const schema = value === false ? NEVER : value;
  if (!isObject(schema)) return [];
  const pointer = node.pointer + tokens.map((token) => `/${escapeToken(token)}`).join('');
  return [{ ...node, schema, pointer, base: baseIn(schema, node.base) }];
}

/** The schemas that apply to every value of a schema. */
export const applying = (node: SchemaNode, files: SchemaFiles): SchemaNode[] => inPlace(node, files);

/** The schemas that apply to a value where each part has one at a place. */
export const below = (parts: Parts, tokens: readonly string[], files: SchemaFiles): SchemaNode[] =>
  parts.flatMap((part) => partsAt(part, tokens)).flatMap((each) => applying(each, files));
