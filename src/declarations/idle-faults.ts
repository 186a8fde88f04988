import { isObject, type Json, type JsonObject } from '../json.js';
import { compilePattern } from '../validation/linear-patterns.js';
import type { DeclarationFault } from './declaration.js';
import type { Declarations } from './read-declarations.js';
import { OWNED } from './schema-faults.js';
import { SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/** Keywords that restrict the values of one type alone. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  object: ['properties', 'required', 'minProperties', 'maxProperties', 'patternProperties', 'propertyNames'],
};

/** Keywords whose schemas may be meant to have no value. */
export const NEGATED: ReadonlySet<string> = new Set(['not', 'if']);

/** Rules without effect, and fixed values that are never valid, since they are about another type than the schema has. */
export function idleFaults({ collections, shared }: Declarations): DeclarationFault[] {
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const files = new SchemaFiles([...own, ...shared]);
  return [...own, ...shared].flatMap(([name]) =>
    [...nodesIn(files.root(name))].flatMap(({ isNegated, node: { file, pointer, schema } }) =>
      [...faultsOf(schema), ...(isNegated ? [] : undeclaredNames(schema))].map(([keyword, reason]) => ({
        file: paths.get(file) ?? file,
        pointer: `${pointer}/${keyword}`,
        reason,
      })),
    ),
  );
}

function* nodesIn(
  node: SchemaNode,
  isNegated = false,
): Generator<{ readonly node: SchemaNode; readonly isNegated: boolean }> {
  yield { node, isNegated };
  for (const each of subschemas(node)) yield* nodesIn(each.node, isNegated || NEGATED.has(each.keyword));
}

function faultsOf(schema: JsonObject): [keyword: string, reason: string][] {
  const given = (keyword: string) => Object.hasOwn(schema, keyword);
  const empty: [string, string][] =
    Array.isArray(schema.enum) && schema.enum.length === 0
      ? [['enum', 'has no element: no value is valid']]
      : [];
  empty.push(...crossingBounds(schema));
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

/** Bounds of one schema, the lower one first. */
const BOUNDS: readonly (readonly [low: string, high: string])[] = [
  ['minimum', 'maximum'],
  ['exclusiveMinimum', 'maximum'],
  ['minimum', 'exclusiveMaximum'],
  ['exclusiveMinimum', 'exclusiveMaximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minContains', 'maxContains'],
  ['minProperties', 'maxProperties'],
];

const crossingBounds = (schema: JsonObject): [string, string][] =>
  BOUNDS.flatMap(([low, high]): [string, string][] => {
    const [least, most] = [Number(schema[low] ?? Number.NaN), Number(schema[high] ?? Number.NaN)];
    if (least > most) return [[low, `is more than ${high}: no value is valid`]];
    const isStrict = `${low} ${high}`.includes('exclusive');
    return isStrict && least === most ? [[low, `and ${high} leave no number: no value is valid`]] : [];
  });

/** Required members that no object can have: fields that are not declared, or that `false` forbids. */
function undeclaredNames(schema: JsonObject): [string, string][] {
  const { required, properties, patternProperties, additionalProperties } = schema;
  const names = Array.isArray(required) ? required : [];
  const fields = isObject(properties) ? properties : {};
  const patterns = Object.keys(isObject(patternProperties) ? patternProperties : {});
  return names.flatMap((name, at): [string, string][] => {
    if (typeof name !== 'string' || OWNED.has(name)) return [];
    if (Object.hasOwn(fields, name))
      return fields[name] === false
        ? [[`required/${at}`, `requires "${name}", which no record may have: its schema is false`]]
        : [];
    const isClosed = additionalProperties === false && !patterns.some((each) => isMatch(each, name));
    return isClosed
      ? [[`required/${at}`, `requires "${name}", which is not declared, and additionalProperties is false`]]
      : [];
  });
}

/** An invalid pattern has a fault of its own. */
function isMatch(pattern: string, name: string): boolean {
  try {
    return compilePattern(pattern, 'u').test(name);
  } catch {
    return true;
  }
}

export function typesOf({ type }: JsonObject): readonly string[] | undefined {
  const types = typeof type === 'string' ? [type] : type;
  return Array.isArray(types) ? types.filter((each): each is string => typeof each === 'string') : undefined;
}

export function isOfType(type: string, value: Json): boolean {
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  return type === 'object' ? isObject(value) : typeof value === type;
}
