import { isDeepStrictEqual } from 'node:util';
import { hiddenIn, OWN_MEMBERS, partOf } from '../collection/document-part.js';
import type { StoredRecord } from '../collection/record.js';
import { type Reference, type Resource, referredIds } from '../collection/resource.js';
import type { BeforeWrite, Origin, ValidatedInput } from '../collection/validated-input.js';
import { fieldsDenied } from '../errors/caller-errors.js';
import { invalid } from '../errors/input-errors.js';
import { type Failure, Problem } from '../errors/problem.js';
import { isObject, type Json, type JsonObject, member } from '../json.js';
import type { Collection } from '../list/open-collection.js';
import { writeOnlyNames } from '../validation/validation.js';
import { type Grant, grantsIn, type Rules } from './rules.js';

/** Some fields of a record; undefined: all. */
export type Fields = ReadonlySet<string> | undefined;

/** The fields of any of some grants. */
export function fieldsOf(grants: readonly Pick<Grant, 'fields'>[]): Fields {
  if (grants.some(({ fields }) => fields === undefined)) return undefined;
  return new Set(grants.flatMap(({ fields = [] }) => fields));
}

/** The most combinations of grants whose fields a collection retains. */
const MAX_COMBINATIONS = 256;

const combinations = new WeakMap<Rules, Map<number, Fields>>();

/** The fields of any of the grants that `mask` has. */
export function fieldsIn(rules: Rules, mask: number): Fields {
  const known = combinations.get(rules) ?? new Map<number, Fields>();
  if (known.has(mask)) return known.get(mask);
  const fields = fieldsOf(grantsIn(rules, mask));
  if (known.size < MAX_COMBINATIONS) combinations.set(rules, known.set(mask, fields));
  return fields;
}

/** A record of which a caller may read some fields. The order of its members remains. */
export function shownPart(record: StoredRecord, fields: Fields): StoredRecord {
  if (!fields) return record;
  const { doc } = record;
  // Only writes ask for the values.
  const hidden = { values: () => hiddenIn(doc, fields), readable: fields };
  return { ...record, doc: partOf(doc, fields), hidden };
}

/**
 * Validates the body of a write of a record of which the caller reads a part. The other values remain, unless the body sets them.
 * Throws as `check`, without the rules of fields that the caller may not read, and 403 for a body with an immutable field that the
 * caller may not read or one that the service sets, or a patch with a read-only one: whether it is unchanged would reveal its value.
 */
export function checkPart(
  { resource, check }: Pick<Collection, 'resource' | 'check'>,
  input: Json | undefined,
  origin?: Origin,
  present?: BeforeWrite,
  caller?: string,
): ValidatedInput {
  const hidden = present?.hidden;
  if (!hidden || !isObject(input)) return check(input, origin, present, caller);
  const known = new Set([...OWN_MEMBERS, '_links', ...writeOnlyNames(resource.schema), ...hidden.readable]);
  const named = Object.keys(input).filter((name) => !known.has(name));
  const readOnly = named.filter((name) => resource.readOnly.includes(name));
  const isSet = (name: string) => [...resource.set, ...resource.numbers].some(({ field }) => field === name);
  const denied = named.filter((name) =>
    readOnly.includes(name) ? present.isPatch || isSet(name) : resource.immutable.includes(name),
  );
  if (denied.length > 0) throw fieldsDenied(denied);
  const values = hidden.values();
  const record = { ...present.record, ...values };
  const checked = withFailuresOf(
    (field) => field === '' || known.has(field) || named.includes(field),
    () => check({ ...values, ...input }, origin, { ...present, record }, caller),
  );
  return { ...checked, unseen: named.filter((name) => !readOnly.includes(name)) };
}

const HIDDEN_FAILURE: Failure = {
  path: '',
  message: 'must fit the fields of the record that you may not read',
  keyword: 'hidden',
};

/** The name of the field that a JSON Pointer is about; empty: the whole record. */
const fieldIn = (path: string): string =>
  (path.split('/', 2)[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~');

/** Runs a check. Of a body that is not valid it throws the failures in fields that `isShown` accepts; others are one failure without a name. */
function withFailuresOf<T>(isShown: (field: string) => boolean, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof Problem && error.code === invalid.type.code)) throw error;
    const failures = error.more.details as readonly Failure[];
    const shown = failures.filter(({ path }) => isShown(fieldIn(path)));
    if (shown.length === failures.length) throw error;
    throw invalid([...shown, HIDDEN_FAILURE], error.message);
  }
}

/** Throws 403 for fields that a write changes beyond those that the caller may set. `before`: the record; undefined: there is none. */
export function requireSettable(
  resource: Resource,
  fields: Fields,
  input: ValidatedInput,
  before: JsonObject | undefined,
): void {
  if (!fields) return;
  const denied = changedFields(resource, input, before).filter((name) => !fields.has(name));
  if (denied.length > 0) throw fieldsDenied(denied);
}

/**
 * The ids that a field refers to before a write; none of a field that the caller may not read, so that the response to a guess tells
 * nothing.
 */
export const knownIds = (
  { unseen }: Pick<ValidatedInput, 'unseen'>,
  before: JsonObject,
  reference: Reference,
): ReadonlySet<string> =>
  new Set(unseen?.includes(reference.field) ? [] : referredIds(before, reference).map(({ id }) => id));

/** The fields that a write changes, of those that callers may set. `before`: the record; undefined: there is none. */
export function changedFields(
  { schema, readOnly, writeOnly }: Resource,
  input: ValidatedInput,
  before: JsonObject | undefined,
): string[] {
  const properties = schema.properties as Readonly<Record<string, { default?: Json } | undefined>>;
  /** Validation gives absent fields their defaults, also those that the caller may not read. A field without a rule can have null. */
  const isUnchanged = (name: string) => {
    const [value, present] = [member(input.fields, name), before && member(before, name)];
    if (!Object.hasOwn(properties, name)) return isDeepStrictEqual(value, present);
    const isInitial = (present ?? null) === null && isDeepStrictEqual(value, properties[name]?.default);
    return isInitial || isDeepStrictEqual(value ?? null, present ?? null);
  };
  const unseen = input.unseen ?? [];
  const names = new Set([...Object.keys(input.fields), ...Object.keys(before ?? {})]);
  const changed = [...names].filter(
    (name) =>
      !OWN_MEMBERS.includes(name) && !readOnly.includes(name) && !unseen.includes(name) && !isUnchanged(name),
  );
  // Whether a field that the caller may not read has changed would reveal its value, and so would its place among the others.
  changed.push(...unseen);
  if (input.password !== undefined || input.passwordHash !== undefined) changed.push('password');
  const secret = writeOnly.length > 0 ? input.columns.at(-1) : undefined;
  if (isObject(secret as Json))
    changed.push(
      ...Object.keys(secret as JsonObject).filter(
        (name) => before || member(secret as JsonObject, name) !== null,
      ),
    );
  return [...new Set(changed)];
}
