import type { ErrorObject } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import { columnValue, MAX_INDEXED_BYTES } from '../collection/column.js';
import { clone, escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import type { createAjv } from '../validation/ajv.js';
import { failureOf } from '../validation/failure.js';
import { normalized } from '../validation/normalization.js';
import { WorkLimitError, withinLimits } from '../validation/work-limit.js';
import type { Declaration, DeclarationFault, DeclaredField } from './declaration.js';
import { columnOf, hasColumn } from './declared-column.js';
import { declaredReference } from './declared-reference.js';
import { isOfType, NEGATED, typesOf } from './idle-faults.js';
import type { Declarations } from './read-declarations.js';
import { baseOf, DEFINITIONS, SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

type Ajv = ReturnType<typeof createAjv>;

const LIMITS = { work: 2_000_000, failures: 100_000 };

/** The values of `default`, `const` and `enum` that violate their own schema, and defaults that could not be stored. */
export function defaultFaults({ collections, shared }: Declarations, ajv: Ajv): DeclarationFault[] {
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const files = new SchemaFiles([...own, ...shared]);
  const seen = new Set<JsonObject>();
  const violations = own.flatMap(([name]) =>
    [...applied(files.root(name), files, seen)].flatMap((node) =>
      violationsOf(node, ajv).map(([keyword, reason]) => ({
        file: paths.get(node.file) ?? node.file,
        pointer: `${node.pointer}/${keyword}`,
        reason,
      })),
    ),
  );
  return [...violations, ...collections.flatMap(columnFaults), ...collections.flatMap(normalFaults)];
}

/** The schemas to which a schema leads. */
function* applied(node: SchemaNode, files: SchemaFiles, seen: Set<JsonObject>): Generator<SchemaNode> {
  if (seen.has(node.schema)) return;
  seen.add(node.schema);
  yield node;
  for (const each of subschemas(node))
    if (!DEFINITIONS.has(each.keyword) && !NEGATED.has(each.keyword)) yield* applied(each.node, files, seen);
  for (const each of files.referred(node)) yield* applied(each.node, files, seen);
}

function violationsOf(node: SchemaNode, ajv: Ajv): [keyword: string, reason: string][] {
  const { default: value, const: only, enum: values } = node.schema;
  const found: [string, string][] = [];
  const own = value === undefined || node.pointer === '' ? undefined : violationOf(node, value, ajv);
  if (own) found.push(['default', own.isCertain ? `violates its own schema: ${own.reason}` : own.reason]);
  const [keyword, all] =
    only !== undefined ? ['const', [only]] : ['enum', Array.isArray(values) ? values : []];
  // A value of another type has a fault of its own.
  const types = typesOf(node.schema) ?? [];
  const hasType = all.every((each) => types.length === 0 || types.some((type) => isOfType(type, each)));
  const reasons = hasType ? all.map((each) => violationOf(node, each, ajv)) : [];
  if (reasons.length === 0 || !reasons.every((each) => each?.isCertain)) return found;
  const subject = all.length > 1 ? 'has only values that violate' : 'violates';
  return [...found, [keyword, `${subject} the other rules: ${reasons[0]!.reason}`]];
}

/** `isCertain`: false if the validation did not end. */
interface Violation {
  readonly reason: string;
  readonly isCertain: boolean;
}

/** Why a value violates a schema; undefined: it does not, or the schema cannot be compiled. */
function violationOf({ schema, file, pointer }: SchemaNode, given: Json, ajv: Ajv): Violation | undefined {
  let validate: AnyValidateFunction | undefined;
  try {
    validate = /"\$(?:ref|dynamicRef|id)":/.test(JSON.stringify(schema))
      ? ajv.getSchema(`${baseOf(file)}#${pointer.split('/').map(encodeURIComponent).join('/')}`)
      : ajv.compile(schema);
  } catch {
    // A schema that cannot be compiled has a fault of its own.
    return undefined;
  }
  const value = clone(given);
  try {
    if (!validate || withinLimits(LIMITS, () => validate(value) as boolean)) return undefined;
  } catch (error) {
    if (error instanceof WorkLimitError)
      return { reason: `cannot be validated: it ${error.reason}`, isCertain: false };
    // The stack overflows.
    if (error instanceof RangeError)
      return {
        reason: 'contains itself without end: its members get it as a default again',
        isCertain: false,
      };
    throw error;
  }
  const { path, message } = failureOf(validate.errors![0] as ErrorObject);
  return { reason: `${path && `${path} `}${message}`, isCertain: true };
}

/** Values of a field that its `x-normalize` would change: a default that no filter finds, and others that no request can give. */
const normalFaults = ({ file, schema }: Declaration): DeclarationFault[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    if (!isObject(field as Json) || !Array.isArray(field['x-normalize'])) return [];
    const normalizing = { steps: field['x-normalize'], maxLength: Number(field.maxLength ?? 0) };
    return fixedValues(field as FixedValues).flatMap(([keyword, value]) => {
      const normal = normalized(normalizing, value);
      return normal === value
        ? []
        : [
            {
              file,
              pointer: `/properties/${escapeToken(name)}/${keyword}`,
              reason: `x-normalize makes it ${JSON.stringify(normal)}`,
            },
          ];
    });
  });

function fixedValues({
  default: value,
  const: only,
  enum: values,
}: FixedValues): [keyword: string, value: Json][] {
  const listed = (Array.isArray(values) ? values : []).map((each, at): [string, Json] => [
    `enum/${at}`,
    each,
  ]);
  return [
    ...(value === undefined ? [] : [['default', value] as [string, Json]]),
    ...(only === undefined ? [] : [['const', only] as [string, Json]]),
    ...listed,
  ];
}

interface FixedValues {
  readonly default?: Json;
  readonly const?: Json;
  readonly enum?: readonly Json[];
}

/** Defaults that are valid, and that no column can have. */
function columnFaults({ file, schema }: Declaration): DeclarationFault[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const reason = isObject(field as Json) ? columnFault(name, field) : undefined;
    return reason === undefined
      ? []
      : [{ file, pointer: `/properties/${escapeToken(name)}/default`, reason }];
  });
}

function columnFault(name: string, field: DeclaredField): string | undefined {
  const { default: value } = field as { default?: Json };
  if (value === undefined || value === null || !hasColumn(field)) return undefined;
  const reference = declaredReference(field);
  if (reference !== undefined)
    return [value].flat().every((id) => parseUuid(String(id)))
      ? undefined
      : `must be ${reference.isList ? 'an array of ids of records' : 'the id of a record'}`;
  const column = columnOf(name, field);
  return !('fault' in column) && columnValue(column, value) === undefined
    ? `has more than ${MAX_INDEXED_BYTES} bytes, which an index cannot hold`
    : undefined;
}
