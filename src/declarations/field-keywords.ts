import { escapeToken, isObject, type JsonObject } from '../json.js';
import { OWN_FIELD_KEYWORDS } from '../validation/ajv.js';
import type { DeclarationFault, DeclaredSchema } from './declaration.js';
import { NEVER, type SchemaFiles, type SchemaNode } from './schema-files.js';

/** Keywords that are about a field of the record itself. Behind `$ref` and in `allOf` of the field they apply as well. */
export const FIELD_KEYWORDS: readonly string[] = ['readOnly', 'writeOnly', ...OWN_FIELD_KEYWORDS];
/** Keywords on which the column of a field and its form depend. */
const TYPE_KEYWORDS = ['type', 'format', 'maxLength', 'enum', 'items', 'minItems', 'maxItems'];
const NEED_TYPE = new Set(['x-normalize', 'x-index', 'x-unique', 'x-search', 'x-references', 'x-set']);

/** Whether a schema has a keyword. `false` equals its absence, except as a default. */
export function isGiven(schema: JsonObject, keyword: string): boolean {
  const value = schema[keyword];
  return value !== undefined && (value !== false || keyword === 'default');
}

/**
 * A declaration whose fields themselves have the keywords that `$ref` and `allOf` bring, so that every reader of a field finds
 * them there. Values are as valid as before: repeated keywords apply anyway.
 */
export function withFieldKeywords(
  { schema, pointer, ...node }: SchemaNode,
  files: SchemaFiles,
  faults: DeclarationFault[],
): DeclaredSchema {
  const { properties } = schema;
  if (!isObject(properties)) return schema as unknown as DeclaredSchema;
  const fields = Object.entries(properties).map(([name, field]) => {
    if (!isObject(field) || !('$ref' in field || 'allOf' in field)) return [name, field] as const;
    const at = { ...node, schema: field, pointer: `${pointer}/properties/${escapeToken(name)}` };
    return [name, completed(at, files, faults)] as const;
  });
  return { ...schema, properties: Object.fromEntries(fields) } as unknown as DeclaredSchema;
}

function completed(field: SchemaNode, files: SchemaFiles, faults: DeclarationFault[]): JsonObject {
  const [own, ...others] = inPlace(field, files);
  const result = { ...own!.schema };
  const add = (keyword: string, from: SchemaNode) => {
    if (!isGiven(from.schema, keyword)) return;
    const value = from.schema[keyword]!;
    if (!isGiven(result, keyword)) result[keyword] = value;
    else if (keyword !== 'x-unique' && JSON.stringify(result[keyword]) !== JSON.stringify(value))
      faults.push({
        file: field.file,
        pointer: field.pointer,
        reason: `has two values of ${keyword}: the other one is in ${from.file}#${from.pointer}`,
      });
  };
  for (const from of others) for (const keyword of [...FIELD_KEYWORDS, 'default']) add(keyword, from);
  const hasReferences = [own!, ...others].some(
    ({ schema }) => isObject(schema.items) && 'x-references' in schema.items,
  );
  if (!hasReferences && !Object.keys(result).some((keyword) => NEED_TYPE.has(keyword))) return result;
  for (const keyword of TYPE_KEYWORDS) {
    const from = others.find(({ schema }) => schema[keyword] !== undefined);
    // Beside `prefixItems`, `items` is about the items after these.
    if (result[keyword] === undefined && from && !(keyword === 'items' && from.schema.prefixItems))
      result[keyword] = from.schema[keyword]!;
  }
  return result;
}

/** A schema, and those that apply to every value that it applies to. */
export function inPlace(node: SchemaNode, files: SchemaFiles, seen = new Set<JsonObject>()): SchemaNode[] {
  if (seen.has(node.schema)) return [];
  seen.add(node.schema);
  const { allOf } = node.schema;
  const referred = files.referred(node);
  const members = (Array.isArray(allOf) ? allOf : []).flatMap((schema, index) =>
    isObject(schema) || schema === false
      ? [{ ...node, schema: schema || NEVER, pointer: `${node.pointer}/allOf/${index}` }]
      : [],
  );
  return [node, ...(referred ? [referred] : []), ...members].flatMap((each) =>
    each === node ? [node] : inPlace(each, files, seen),
  );
}
