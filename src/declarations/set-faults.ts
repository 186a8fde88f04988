import { isDeepStrictEqual } from 'node:util';
import { escapeToken, type Json } from '../json.js';
import type { DeclaredField, DeclaredSchema } from './declaration.js';
import { isGiven } from './field-keywords.js';

type Fault = readonly [keyword: string, reason: string];

/** Keywords that give a field another source of its value, or another one who may set it. */
const OTHER_SOURCES: readonly string[] = ['default', 'writeOnly', 'x-import-only', 'x-immutable'];
/** Keywords of a field with numbers: others could refuse the next number. */
const OF_NUMBERS: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'examples',
  'deprecated',
  'readOnly',
  '$comment',
  'minimum',
  'x-set',
  'x-index',
  'x-unique',
  'x-was',
]);
/** Fields with numbers that a collection may have. */
const MAX_NUMBERS = 4;

/** The faults of what x-set and x-immutable say of a field. */
export function setFaults(name: string, schema: DeclaredSchema): Fault[] {
  const field = schema.properties[name]!;
  const set = field['x-set'];
  if (set === undefined) return field['x-immutable'] ? immutableFaults(field) : [];
  const given = (keyword: string) => isGiven({ ...field } as never, keyword);
  const { nested } = schema['x-collection'] ?? {};
  const parent =
    nested === true
      ? Object.keys(schema.properties).find((each) => schema.properties[each]!['x-references'])
      : nested;
  return [
    ...OTHER_SOURCES.filter(given).map(
      (keyword): Fault => [`/${keyword}`, 'the service sets the field: see x-set'],
    ),
    ...(schema.required?.includes(name)
      ? [['/x-set', 'a field that the service sets cannot be required of clients'] as const]
      : []),
    ...(parent === name
      ? [['/x-set', 'clients choose the record under which they create one: see nested'] as const]
      : []),
    ...(typeof set === 'object' && 'next' in set
      ? numberFaults(field, set.next, schema)
      : valueFaults(field, typeof set === 'object' ? set.value : set)),
    ...(typeof set === 'object' && 'when' in set ? conditionFaults(name, set, schema) : []),
  ];
}

function immutableFaults({ readOnly, writeOnly }: DeclaredField): Fault[] {
  if (readOnly) return [['/x-immutable', 'has no effect on a field that clients do not set']];
  return writeOnly ? [['/x-immutable', 'no record shows whether a write-only field changes']] : [];
}

function valueFaults({ type, format, ...field }: DeclaredField, value: string): Fault[] {
  if (value === '$now')
    return type === 'string' && format === 'date-time' && !field['x-references']
      ? []
      : [['/x-set', '$now needs type string and format date-time']];
  const isText = type === 'string' && (format === undefined || field['x-references'] !== undefined);
  return isText ? [] : [['/x-set', '$caller needs type string, without format']];
}

function conditionFaults(
  name: string,
  { on, when = {} }: { readonly on?: string; readonly when?: Readonly<Record<string, Json>> },
  { properties }: DeclaredSchema,
): Fault[] {
  return [
    ...(on === undefined ? [] : [['/x-set/on', 'has no effect beside when'] as const]),
    ...Object.entries(when).flatMap(([other, given]): Fault[] => {
      const at = `/x-set/when/${escapeToken(other)}`;
      const field = Object.hasOwn(properties, other) ? properties[other]! : undefined;
      if (!field) return [[at, `there is no field ${other}`]];
      if (other === name || (typeof field['x-set'] === 'object' && 'next' in field['x-set']))
        return [[at, 'must be a field that clients set, or another one with a value from the request']];
      if (field.writeOnly) return [[at, 'no record has the value of a write-only field']];
      const { enum: values } = field as { enum?: readonly Json[] };
      const isUnknown = (value: Json) => !values!.some((each) => isDeepStrictEqual(each, value));
      return values && [given].flat().some(isUnknown) ? [[at, 'is not one of the values of the field']] : [];
    }),
  ];
}

function numberFaults(field: DeclaredField, next: true | string, schema: DeclaredSchema): Fault[] {
  const others = Object.keys(field).filter((keyword) => !OF_NUMBERS.has(keyword));
  const series = Object.values(schema.properties).filter(
    ({ 'x-set': set }) => typeof set === 'object' && 'next' in set,
  );
  const minimum = Number((field as { minimum?: number }).minimum ?? 1);
  return [
    ...(field.type === 'integer' ? [] : [['/type', 'numbers need type integer'] as const]),
    ...others.map((keyword): Fault => [`/${keyword}`, 'could refuse the next number']),
    ...(minimum <= 1 ? [] : [['/minimum', 'numbers begin with 1'] as const]),
    ...(field['x-index'] || field['x-unique']
      ? []
      : [['/x-set', 'numbers need x-index or x-unique, by which the last one is found'] as const]),
    ...(series.length > MAX_NUMBERS
      ? [['/x-set', `a collection has up to ${MAX_NUMBERS} fields with numbers`] as const]
      : []),
    ...(next === true ? [] : parentFaults(next, schema)),
  ];
}

/** A record whose parent changed would need another number, and one without a parent has none. */
function parentFaults(name: string, { properties, required = [] }: DeclaredSchema): Fault[] {
  const parent = Object.hasOwn(properties, name) ? properties[name]! : undefined;
  if (!parent?.['x-references']) return [['/x-set/next', `there is no field ${name} with x-references`]];
  if (parent['x-set']) return [['/x-set/next', `clients have to set ${name}`]];
  if (parent['x-on-delete'] === 'null')
    return [['/x-set/next', `${name} must not be removed from a record: see its x-on-delete`]];
  return parent['x-immutable'] && required.includes(name)
    ? []
    : [['/x-set/next', `${name} must be required and x-immutable: the number of a record stays as it is`]];
}
