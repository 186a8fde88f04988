import { nearest } from '../errors/edit-distance.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { normalized } from '../validation/normalization.js';
import type { DeclaredField, DeclaredSchema } from './declaration.js';
import { columnOf, type DeclaredReference, declaredReference, hasColumn } from './declared-column.js';
import { isGiven } from './field-keywords.js';
import { fieldNames, formerNameFault } from './former-name-faults.js';
import { type Rule, rule } from './rule.js';

/** A field of a collection. Its schema has the keywords that `$ref` and `allOf` bring. */
export interface FieldPlace {
  readonly name: string;
  readonly field: DeclaredField;
  readonly schema: JsonObject;
  readonly record: DeclaredSchema;
  readonly isRequired: boolean;
  readonly column: ReturnType<typeof columnOf> | undefined;
  readonly reference: DeclaredReference | undefined;
  /** The field before that has the same column. */
  readonly twin: string | undefined;
  /** The names of all collections. */
  readonly collections: readonly string[];
}

/** The most ids in an array of references. Each is checked when the record is written. */
const MAX_REFERENCES = 1000;
/** Fields with numbers that a collection may have. */
const MAX_NUMBERS = 4;

/** Keywords that exclude others at a field, with the reason. */
const EXCLUSIONS: readonly (readonly [keyword: string, reason: string, excluded: readonly string[]])[] = [
  ['x-set', 'the service sets the field', ['default', 'writeOnly', 'x-import-only', 'x-immutable']],
  ['readOnly', 'clients do not set the field', ['x-immutable']],
  ['writeOnly', 'no record shows the field', ['x-immutable']],
];

/** The fields that each source of x-set needs. */
const SOURCES: Readonly<Record<string, readonly [needs: string, test: (field: DeclaredField) => unknown]>> = {
  next: [
    'numbers need type integer, and x-index or x-unique, by which the last one is found',
    (field) => field.type === 'integer' && (field['x-index'] || field['x-unique']),
  ],
  $now: [
    '$now needs type string and format date-time',
    ({ type, format, ...field }) => type === 'string' && format === 'date-time' && !field['x-references'],
  ],
  $caller: [
    '$caller needs type string, without format',
    ({ type, format, ...field }) => type === 'string' && (format === undefined || field['x-references']),
  ],
};

/** Rules about a field. */
export const FIELD_RULES: readonly Rule<FieldPlace>[] = [
  rule(
    '/*',
    ({ schema }, _, [name]) =>
      exclusionsOf(schema, name!).map(([keyword, reason]) => `${reason}: see ${keyword}`)[0],
    ({ schema }, _, [name]) => isGiven(schema, name!),
  ),
  rule(
    '/x-normalize',
    'has no effect on a field of another type than string or, for integer, a number',
    ({ field }, steps) => steps !== undefined && !mayBeNormalized(field),
  ),
  rule(
    '/x-normalize',
    'nfc needs maxLength',
    ({ field }) => field['x-normalize']?.includes('nfc') && !(Number(field.maxLength) > 0),
  ),
  rule(
    ['/default', '/const', '/enum/*'],
    normalFault,
    ({ field }, value) => value !== undefined && field['x-normalize'],
  ),
  rule(
    '/writeOnly',
    'a field that is never returned cannot be indexed, nor required, since a patch would not contain it',
    ({ field, isRequired }, value) => value && (hasColumn(field) || isRequired),
  ),
  rule(
    ['/readOnly', '/x-import-only', '/x-set'],
    'no request can set the field, and each record must have it: give it a default, or do not require it',
    ({ isRequired, schema }, value) => value && isRequired && !isGiven(schema, 'default'),
  ),
  rule('/type', ({ column }) => (column && 'fault' in column ? column.fault : undefined)),
  rule('/x-search', 'only a field of type string can be searched', ({ column }, value) => {
    return value && column && 'type' in column && column.type !== 'text';
  }),
  rule('/x-unique', 'an array cannot be unique', ({ column }, value) => {
    return value && column && 'type' in column && column.type.endsWith('[]');
  }),
  rule(
    '',
    ({ twin }) => `has the same column as ${twin}`,
    ({ twin }) => twin !== undefined,
  ),
  rule('/x-was', ({ name, field, record }) =>
    formerNameFault({ name, was: field['x-was'] }, fieldNames(record)),
  ),
  rule(
    ['/x-references', '/items/x-references'],
    ({ collections }, to) =>
      `there is no collection ${to}: there are ${collections.join(', ')}${nearest(String(to), collections)}`,
    ({ collections }, to) => to !== undefined && !collections.includes(String(to)),
  ),
  rule(
    ['/x-on-delete', '/items/x-on-delete'],
    'would leave the record without a value that it must have: restrict, or cascade',
    ({ field, isRequired }, value) =>
      (value === 'null' && isRequired) || (value === 'remove' && Number(field.minItems) > 0),
  ),
  rule(
    '/maxItems',
    `an array of references needs maxItems, at most ${MAX_REFERENCES}: each id is checked`,
    ({ reference }, length) => reference?.isList && !(Number(length) <= MAX_REFERENCES),
  ),
  rule('/x-set', ({ field }) => {
    const [needs, test] = SOURCES[sourceOf(field) ?? ''] ?? [];
    return test?.(field) ? undefined : needs;
  }),
  rule(
    '/x-set',
    'clients choose the record under which they create one: see nested',
    ({ record, name }, set) => set && parentOf(record) === name,
  ),
  rule('/x-set/on', 'has no effect beside when', ({ field }, on) => {
    return on !== undefined && 'when' in (field['x-set'] as object);
  }),
  rule('/x-set/when/*', ({ name, record }, _, [other]) => {
    const field = Object.hasOwn(record.properties, other!) ? record.properties[other!]! : undefined;
    if (!field) return `there is no field ${other}`;
    if (other === name || sourceOf(field) === 'next')
      return 'must be a field that clients set, or another one with a value from the request';
    return field.writeOnly ? 'no record has the value of a write-only field' : undefined;
  }),
  rule(
    '/x-set',
    `a collection has up to ${MAX_NUMBERS} fields with numbers`,
    ({ field, record }) =>
      sourceOf(field) === 'next' &&
      Object.values(record.properties).filter((each) => sourceOf(each) === 'next').length > MAX_NUMBERS,
  ),
  rule(
    '/x-set/next',
    (_, next) =>
      `${next} must be a field with x-references that is required, x-immutable and set by clients: the number of a record stays as it is`,
    ({ record: { properties, required } }, next) => {
      if (typeof next !== 'string') return false;
      const parent = Object.hasOwn(properties, next) ? properties[next]! : {};
      const isStable = parent['x-immutable'] && parent['x-on-delete'] !== 'null' && required?.includes(next);
      return !isStable || !parent['x-references'] || parent['x-set'];
    },
  ),
];

/** The source of a field that the service sets; undefined: clients set it. */
function sourceOf({ 'x-set': set }: DeclaredField): string | undefined {
  if (typeof set !== 'object') return set;
  return 'next' in set ? 'next' : set.value;
}

const exclusionsOf = (schema: JsonObject, name: string) =>
  EXCLUSIONS.filter(([keyword, , excluded]) => excluded.includes(name) && isGiven(schema, keyword));

function parentOf({ properties, 'x-collection': { nested } = {} }: DeclaredSchema): unknown {
  return nested === true ? Object.keys(properties).find((each) => properties[each]!['x-references']) : nested;
}

/** Whether a field may have texts, or numbers that a body may give as texts. */
const mayBeNormalized = ({ type, 'x-normalize': steps = [] }: DeclaredField): boolean =>
  type === undefined ||
  [type]
    .flat()
    .some(
      (each) => each === 'string' || (steps.includes('integer') && each !== 'object' && each !== 'array'),
    );

function normalFault({ field }: FieldPlace, value: Json | undefined): string | undefined {
  const normal = normalized(field['x-normalize'] ?? [], value!);
  return normal === value ? undefined : `x-normalize makes it ${JSON.stringify(normal)}`;
}

/** The fields of a record, in their order. `required`: the fields that each record must have. */
export function* fieldPlaces(
  record: DeclaredSchema,
  required: readonly string[],
  collections: readonly string[],
): Generator<FieldPlace> {
  const columns = new Map<string, string>();
  for (const [name, field] of Object.entries(record.properties)) {
    if (!isObject(field as Json)) continue;
    const column = hasColumn(field) ? columnOf(name, field) : undefined;
    const columnName = column && 'name' in column ? column.name : '';
    yield {
      name,
      field,
      schema: field as JsonObject,
      record: { ...record, required },
      isRequired: required.includes(name),
      column,
      reference: declaredReference(field),
      twin: columns.get(columnName),
      collections,
    };
    if (columnName !== '') columns.set(columnName, name);
  }
}
