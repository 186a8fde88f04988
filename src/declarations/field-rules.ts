import { type Column, columnValue, MAX_INDEXED_BYTES } from '../collection/column.js';
import { nearest } from '../errors/edit-distance.js';
import type { Json, JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import { normalized } from '../validation/normalization.js';
import type { DeclaredField, DeclaredSchema } from './declaration.js';
import { columnOf, type DeclaredReference, declaredReference, hasColumn } from './declared-column.js';
import { isGiven } from './field-keywords.js';
import { fieldNames, formerNameFault } from './former-name-faults.js';
import { type Rule, rule, where } from './rule.js';

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
const ID_LENGTH = 36;

const LONG_KEY = `an index holds up to ${MAX_INDEXED_BYTES} bytes: lower it, or use x-search without x-index`;
const UNSET =
  'no request can set the field, and each record must have it: give it a default, or do not require it';
const NO_ID = 'does not fit the ids of records';
const MANY_IDS = `an array of references needs maxItems, at most ${MAX_REFERENCES}: each id is checked`;

const hasIndex = ({ field }: FieldPlace) => field['x-index'] || field['x-unique'];
const isSecret = ({ field }: FieldPlace) => field.writeOnly;
const hasOwnColumn = ({ column }: FieldPlace) => column && 'type' in column;
const hasIds = ({ reference }: FieldPlace) => reference?.isList;

/** Whether each record must have a value that no request and no default gives. */
const isUnset = ({ isRequired, field, schema }: FieldPlace): boolean =>
  isRequired && field['x-set'] === undefined && !isGiven(schema, 'default');

/** Rules about a field, besides the ones about what the service sets. */
export const FIELD_RULES: readonly Rule<FieldPlace>[] = [
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
  ...where(hasIndex, [
    rule('/maxLength', LONG_KEY, (_, length) => Number(length) > MAX_INDEXED_BYTES),
    rule('/items/maxLength', LONG_KEY, ({ field }, length) => {
      return field.maxLength === undefined && Number(length) > MAX_INDEXED_BYTES;
    }),
  ]),
  ...where(isSecret, [
    rule('/writeOnly', 'a field that is never returned cannot be indexed', ({ field }) => hasColumn(field)),
    rule(
      '/writeOnly',
      'a field that is never returned cannot be required: a patch would not contain it',
      ({ isRequired }) => isRequired,
    ),
  ]),
  ...where(isUnset, [
    rule('/readOnly', UNSET, (_, value) => value),
    rule('/x-import-only', UNSET, ({ field }, value) => value && !field.readOnly),
  ]),
  rule('/type', ({ column }) => (column && 'fault' in column ? column.fault : undefined)),
  ...where(hasOwnColumn, [
    rule(
      '',
      ({ twin, column }) => `has the same column as ${twin}: ${(column as Column).name}`,
      ({ twin }) => twin !== undefined,
    ),
    rule('/x-search', 'only a field of type string can be searched', ({ column }, value) => {
      return value && (column as Column).type !== 'text';
    }),
    rule('/x-unique', 'an array cannot be unique', ({ column }, value) => {
      return value && (column as Column).type.endsWith('[]');
    }),
  ]),
  rule('/default', columnFault, ({ column }, value) => value !== undefined && value !== null && column),
  rule('/x-was', ({ name, field, record }) =>
    formerNameFault({ name, was: field['x-was'] }, fieldNames(record)),
  ),
  rule(
    '/x-on-delete',
    'would leave the record without a required field: restrict or cascade',
    ({ reference, isRequired }, value) => reference?.isList === false && value === 'null' && isRequired,
  ),
  ...where(hasIds, [
    rule('/prefixItems', NO_ID, (_, value) => value !== undefined),
    rule('', MANY_IDS, ({ field }) => field.maxItems === undefined),
    rule('/maxItems', MANY_IDS, (_, length) => Number(length) > MAX_REFERENCES),
  ]),
];

/** Rules about the schema of an id of another record: the one of a field, or of its items. */
export const ID_RULES: readonly Rule<FieldPlace>[] = [
  rule(
    '/x-references',
    ({ collections }, to) =>
      `there is no collection ${to}: there are ${collections.join(', ')}${nearest(String(to), collections)}`,
    ({ collections }, to) => !collections.includes(String(to)),
  ),
  rule('/format', NO_ID, (_, format) => format !== undefined && format !== 'uuid'),
  rule('/minLength', NO_ID, (_, length) => Number(length) > ID_LENGTH),
  rule('/maxLength', NO_ID, (_, length) => Number(length) < ID_LENGTH),
  ...where(hasIds, [
    rule('/type', 'must be "string": the items are ids of records', (_, type) => type !== 'string'),
    rule(
      '/x-on-delete',
      'would delete a record that names others as well: restrict, or remove, which removes the id',
      (_, value) => value === 'cascade',
    ),
    rule(
      '/x-on-delete',
      'is for a field with one id: remove removes an id from an array',
      (_, value) => value === 'null',
    ),
    rule(
      '/x-on-delete',
      'would leave the record with fewer ids than minItems: restrict',
      ({ field }, value) => value === 'remove' && Number(field.minItems) > 0,
    ),
  ]),
];

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

/** Why no column can have a default that is valid. */
function columnFault({ column, reference }: FieldPlace, value: Json | undefined): string | undefined {
  if (reference !== undefined)
    return [value].flat().every((id) => parseUuid(String(id)))
      ? undefined
      : `must be ${reference.isList ? 'an array of ids of records' : 'the id of a record'}`;
  return column && !('fault' in column) && columnValue(column, value!) === undefined
    ? `has more than ${MAX_INDEXED_BYTES} bytes, which an index cannot hold`
    : undefined;
}

/** The fields of a record, in their order. */
export function* fieldPlaces(record: DeclaredSchema, collections: readonly string[]): Generator<FieldPlace> {
  const columns = new Map<string, string>();
  for (const [name, field] of Object.entries(record.properties)) {
    const column = hasColumn(field) ? columnOf(name, field) : undefined;
    const columnName = column && 'name' in column ? column.name : '';
    yield {
      name,
      field,
      schema: field as JsonObject,
      record,
      isRequired: record.required?.includes(name) ?? false,
      column,
      reference: declaredReference(field),
      twin: columns.get(columnName),
      collections,
    };
    if (columnName !== '') columns.set(columnName, name);
  }
}
