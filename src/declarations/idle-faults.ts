import { isObject, type Json, type JsonObject } from '../json.js';
import type { DeclarationFault } from './declaration.js';
import type { Declarations } from './read-declarations.js';
import { SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/** Keywords that restrict the values of one type alone. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  object: ['properties', 'required', 'minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
};

/** Rules without effect, and fixed values that are never valid, since they are about another type than the schema has. */
export function idleFaults({ collections, shared }: Declarations): DeclarationFault[] {
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const files = new SchemaFiles([...own, ...shared]);
  return [...own, ...shared].flatMap(([name]) =>
    [...nodesIn(files.root(name))].flatMap(({ file, pointer, schema }) =>
      faultsOf(schema).map(([keyword, reason]) => ({
        file: paths.get(file) ?? file,
        pointer: `${pointer}/${keyword}`,
        reason,
      })),
    ),
  );
}

function* nodesIn(node: SchemaNode): Generator<SchemaNode> {
  yield node;
  for (const each of subschemas(node)) yield* nodesIn(each.node);
}

function faultsOf(schema: JsonObject): [keyword: string, reason: string][] {
  const given = (keyword: string) => Object.hasOwn(schema, keyword);
  const empty: [string, string][] =
    Array.isArray(schema.enum) && schema.enum.length === 0
      ? [['enum', 'has no element: no value is valid']]
      : [];
  const types = typesOf(schema);
  if (types === undefined) return empty;
  const names = types.join(' or ');
  const isOf = (type: string) => types.includes(type) || (type === 'number' && types.includes('integer'));
  const idle = Object.entries(OF_TYPE)
    .filter(([type]) => !isOf(type))
    .flatMap(([, keywords]) => keywords.filter(given))
    .map((keyword): [string, string] => [keyword, `has no effect on a value of type ${names}`]);
  const values = [
    ...(given('const') ? [['const', schema.const!] as const] : []),
    ...(Array.isArray(schema.enum) ? schema.enum.map((value, at) => [`enum/${at}`, value] as const) : []),
  ];
  const others = values
    .filter(([, value]) => !types.some((type) => isOfType(type, value)))
    .map(([keyword]): [string, string] => [keyword, `is not of type ${names}`]);
  return [...empty, ...idle, ...others];
}

function typesOf({ type }: JsonObject): readonly string[] | undefined {
  const types = typeof type === 'string' ? [type] : type;
  return Array.isArray(types) ? types.filter((each): each is string => typeof each === 'string') : undefined;
}

function isOfType(type: string, value: Json): boolean {
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  return type === 'object' ? isObject(value) : typeof value === type;
}
