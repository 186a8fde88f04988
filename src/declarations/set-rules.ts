import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../json.js';
import type { DeclaredField } from './declaration.js';
import type { FieldPlace } from './field-rules.js';
import { type Rule, rule, where } from './rule.js';

/** Keywords of a field with numbers: others could refuse the next number. */
const OF_NUMBERS: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'examples',
  'deprecated',
  'readOnly',
  '$comment',
  '$anchor',
  '$dynamicAnchor',
  'minimum',
  'x-set',
  'x-index',
  'x-unique',
  'x-was',
]);
/** Fields with numbers that a collection may have. */
const MAX_NUMBERS = 4;

const isNumbered = ({ 'x-set': set }: DeclaredField): boolean => typeof set === 'object' && 'next' in set;

const isSet = ({ field }: FieldPlace): boolean => field['x-set'] !== undefined;
const hasNumbers = ({ field }: FieldPlace): boolean => isNumbered(field);

/** The source of a field that the service sets; undefined: clients set it, or it has numbers. */
function sourceOf({ 'x-set': set }: DeclaredField): string | undefined {
  return typeof set === 'object' ? ('value' in set ? set.value : undefined) : set;
}

function parentOf({ properties, 'x-collection': { nested } = {} }: FieldPlace['record']): unknown {
  return nested === true ? Object.keys(properties).find((each) => properties[each]!['x-references']) : nested;
}

/** Why `when` of x-set cannot compare a field with a value, or with one of several. */
function conditionFault({ name, record }: FieldPlace, given: Json, other: string): string | undefined {
  const field = Object.hasOwn(record.properties, other) ? record.properties[other]! : undefined;
  if (!field) return `there is no field ${other}`;
  if (other === name || isNumbered(field))
    return 'must be a field that clients set, or another one with a value from the request';
  if (field.writeOnly) return 'no record has the value of a write-only field';
  const { enum: values } = field as { readonly enum?: readonly Json[] };
  const isKnown = (value: Json) => !values || values.some((each) => isDeepStrictEqual(each, value));
  return [given].flat().every(isKnown) ? undefined : 'is not one of the values of the field';
}

/** Rules of what x-set and x-immutable say of a field. */
export const SET_RULES: readonly Rule<FieldPlace>[] = [
  rule('/x-immutable', (place, isImmutable) => {
    const { field } = place;
    if (!isImmutable || isSet(place)) return undefined;
    if (field.readOnly) return 'has no effect on a field that clients do not set';
    return field.writeOnly ? 'no record shows whether a write-only field changes' : undefined;
  }),
  ...where(isSet, [
    rule(
      ['/default', '/writeOnly', '/x-import-only', '/x-immutable'],
      'the service sets the field: see x-set',
      (_, value) => value !== undefined && value !== false,
    ),
    rule(
      '/x-set',
      'a field that the service sets cannot be required of clients',
      ({ isRequired }) => isRequired,
    ),
    rule(
      '/x-set',
      'clients choose the record under which they create one: see nested',
      ({ record, name }) => parentOf(record) === name,
    ),
    rule('/x-set', '$now needs type string and format date-time', ({ field: { type, format, ...field } }) => {
      const isTime = type === 'string' && format === 'date-time' && !field['x-references'];
      return sourceOf(field) === '$now' && !isTime;
    }),
    rule('/x-set', '$caller needs type string, without format', ({ field: { type, format, ...field } }) => {
      const isText = type === 'string' && (format === undefined || field['x-references'] !== undefined);
      return sourceOf(field) === '$caller' && !isText;
    }),
    rule('/x-set/on', 'has no effect beside when', ({ field }, on) => {
      return on !== undefined && 'when' in (field['x-set'] as object);
    }),
    rule('/x-set/when/*', (place, given, [other]) => conditionFault(place, given!, other!)),
  ]),
  ...where(hasNumbers, [
    rule('/type', 'numbers need type integer', (_, type) => type !== 'integer'),
    rule('/*', 'could refuse the next number', (_, __, [keyword]) => !OF_NUMBERS.has(keyword!)),
    rule('/minimum', 'numbers begin with 1', (_, minimum) => Number(minimum) > 1),
    rule(
      '/x-set',
      'numbers need x-index or x-unique, by which the last one is found',
      ({ field }) => !field['x-index'] && !field['x-unique'],
    ),
    rule('/x-set', `a collection has up to ${MAX_NUMBERS} fields with numbers`, ({ record }) => {
      return Object.values(record.properties).filter(isNumbered).length > MAX_NUMBERS;
    }),
    rule('/x-set/next', ({ record }, next) =>
      next === true ? undefined : seriesFault(String(next), record),
    ),
  ]),
];

/** A record whose parent changed would need another number, and one without a parent has none. */
function seriesFault(name: string, { properties, required = [] }: FieldPlace['record']): string | undefined {
  const parent = Object.hasOwn(properties, name) ? properties[name]! : undefined;
  if (!parent?.['x-references']) return `there is no field ${name} with x-references`;
  if (parent['x-set']) return `clients have to set ${name}`;
  if (parent['x-on-delete'] === 'null')
    return `${name} must not be removed from a record: see its x-on-delete`;
  return parent['x-immutable'] && required.includes(name)
    ? undefined
    : `${name} must be required and x-immutable: the number of a record stays as it is`;
}
