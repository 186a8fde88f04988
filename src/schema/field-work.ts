import { isObject, type Json, type JsonObject, member, setMember, unescapeToken } from '../json.js';
import { normalized } from '../validation/normalization.js';
import type { FieldWork, SchemaStep } from './step.js';

/** The effect of a plan on the stored records of a collection. */
export interface Change {
  readonly name: string;
  /** The present name of its table. */
  readonly table: string;
  /** The work of the plan that changes the fields of its records, with what its drops repeat for services with a former declaration. */
  readonly works: readonly FieldWork[];
  /** The work among its drops that removes fields which the declaration forbids. */
  readonly prunes: readonly FieldWork[];
  /** Fields that are no longer declared. */
  readonly dropped: readonly string[];
  /** Whether the records may violate the declaration. */
  readonly isStricter: boolean;
}

/** The work of steps on the fields of documents. */
export const worksOf = (steps: readonly SchemaStep[]): FieldWork[] =>
  steps
    .map(({ work }) => work)
    .filter((work): work is FieldWork => work !== undefined && work.kind !== 'fill');

/** The fields whose values work changes or moves. */
export function fieldsOf(work: FieldWork): readonly string[] {
  switch (work.kind) {
    case 'rename':
      return [work.to];
    case 'default-within':
      return [...new Set(Object.keys(work.values).map((pointer) => namesOf(pointer)[0]!))];
    case 'normalize':
      return Object.keys(work.rules);
    default:
      return work.fields;
  }
}

/** The fields of a record after work, without changing it; undefined: they are as they were. */
export function fieldsAfter(
  work: FieldWork,
  record: Readonly<Record<string, Json>>,
): [string, Json][] | undefined {
  const entries = Object.entries(record);
  switch (work.kind) {
    case 'rename': {
      const { from, to } = work;
      if (!Object.hasOwn(record, from) || Object.hasOwn(record, to)) return undefined;
      return entries.map(([field, value]) => [field === from ? to : field, value]);
    }
    case 'default-within': {
      const values = Object.entries(work.values).map(
        ([pointer, value]) => [namesOf(pointer), value] as const,
      );
      const after = values.reduce<Json>((whole, [names, value]) => withMember(whole, names, value), record);
      return after === record ? undefined : Object.entries(after as JsonObject);
    }
    case 'normalize': {
      const after = entries.map(([field, value]): [string, Json] => {
        const rule = Object.hasOwn(work.rules, field) ? work.rules[field] : undefined;
        return [field, rule === undefined ? value : normalized(rule.steps, value)];
      });
      return after.some(([, value], at) => value !== entries[at]![1]) ? after : undefined;
    }
    default: {
      const rest = entries.filter(([field]) => !work.fields.includes(field));
      return rest.length === entries.length ? undefined : rest;
    }
  }
}

/** The names in a JSON Pointer. */
const namesOf = (pointer: string): string[] => pointer.split('/').slice(1).map(unescapeToken);

/**
 * A value with a member within objects that it has, which gets a value if it has none; otherwise the value itself. `isField`: the
 * member is a field of a record, where null is none.
 */
function withMember(whole: Json, [name = '', ...rest]: readonly string[], value: Json, isField = true): Json {
  if (!isObject(whole)) return whole;
  const present = member(whole, name);
  const isMissing = present === undefined || (isField && present === null);
  if (rest.length === 0 ? !isMissing : !isObject(present)) return whole;
  const after = rest.length === 0 ? value : withMember(present!, rest, value, false);
  if (after === present) return whole;
  const result = { ...whole };
  setMember(result, name, after);
  return result;
}
