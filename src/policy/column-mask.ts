import { isDeepStrictEqual } from 'node:util';
import { OWN_MEMBERS, withoutFields } from '../collection/document.js';
import type { StoredRecord } from '../collection/record.js';
import { type Reference, type Resource, referredIds, shardColumn } from '../collection/resource.js';
import type { BeforeWrite, compileInput, Origin, ValidatedInput } from '../collection/validated-input.js';
import { arrayLiteral } from '../db/statements.js';
import { fieldsDenied } from '../errors/caller-errors.js';
import { invalid } from '../errors/input-errors.js';
import { type Failure, Problem } from '../errors/problem.js';
import { isObject, type Json, type JsonObject, member, unescapeToken } from '../json.js';
import { type Access, type Condition, hidesFields, isOfColumns } from '../list/condition.js';
import type { Source } from '../list/record-source.js';
import { writeOnlyNames } from '../validation/validation.js';
import { type Fields, grantFields, grantsIn, type Policy } from './policy.js';

/** The fields of any of the grants that `mask` has. */
export const fieldsIn = (policy: Policy, mask: number): Fields => grantFields(grantsIn(policy, mask));

/** A record of which a caller may read some fields. The order of its members remains. */
export function maskRecord(record: StoredRecord, fields: Fields): StoredRecord {
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
export function checkWithMask(
  { resource, check }: { readonly resource: Resource; readonly check: ReturnType<typeof compileInput> },
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
const fieldIn = (path: string): string => unescapeToken(path.split('/', 2)[1] ?? '');

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
  const denied = changedNames(resource, input, before).filter((name) => !fields.has(name));
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
export function changedNames(
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

/** SQL that is true if conditions hold for a record of a source. */
type Holds = (conditions: readonly Condition[], source?: string) => string;

/**
 * The columns of the source `granted` that a caller may read, without values of fields that it may not read, and the joins that
 * precede the conditions after that source.
 */
export function readableColumns(granted: Source, access: Access, holds: Holds) {
  if (!hidesFields(access)) return { columns: 'granted.*', joins: '' };
  const joins: string[] = [];
  const held = access.grants.map(({ conditions }, at) => {
    if (granted.engine.correlates || conditions.every(isOfColumns)) return holds(conditions);
    joins.push(heldJoin(granted.resource, `held_${at}`, holds(conditions, 'held')));
    return `held_${at}.id is not null`;
  });
  return { columns: columnsOf(granted, access, held), joins: joins.join('') };
}

/**
 * A join with the records for which a grant holds. On Citus no column depends on a query, but the records that are joined may.
 */
function heldJoin(resource: Resource, name: string, holding: string): string {
  const keys = ['id', shardColumn(resource) ?? []].flat();
  const columns = keys.map((key) => `held.${key}`).join(', ');
  const isRecord = keys.map((key) => `${name}.${key} = granted.${key}`).join(' and ');
  return ` left join (select ${columns} from ${resource.table} as held where ${holding}) as ${name} on ${isRecord}`;
}

/** `held`: SQL that is true if a grant holds. */
function columnsOf(granted: Source, { grants }: Access, held: readonly string[]): string {
  const showing = (field: string | undefined) =>
    grants.flatMap(({ fields }, at) =>
      !fields || (field !== undefined && fields.includes(field)) ? [at] : [],
    );
  const when = (places: readonly number[]) =>
    granted.joined(
      places.map((at) => held[at]!),
      'or',
    );
  const own = [...granted.resource.columns].map(([field, { name }]) => {
    const places = showing(field);
    if (places.length === grants.length) return `granted.${name}`;
    return `case when ${when(places)} then granted.${name} end as ${name}`;
  });
  const limited = grants.flatMap(({ fields }, at) => {
    if (!fields) return [];
    return [
      `case when ${held[at]} then ${granted.parameter(arrayLiteral(fields), 'text::text[]')} else '{}' end`,
    ];
  });
  const fields = limited.join(' || ');
  // A function begins a statement of its own for each record. Citus has no other way.
  const part = granted.engine.correlates
    ? `(
    select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by place) || '}'
    from json_each(granted.doc::json) with ordinality as member (key, value, place)
    where place = 1 or key = any (${fields}) or key in ('created_at', 'updated_at', '_version')
  )`
    : `plinth_readable_part(granted.doc, ${fields})`;
  const doc = `case when ${when(showing(undefined))} then granted.doc else ${part} end as doc`;
  return ['granted.id', 'granted.version', 'granted.updated_at', doc, ...own].join(', ');
}

/** The text of a document with some of its fields, in its order. */
export const partOf = (doc: string, fields: ReadonlySet<string>): string =>
  withoutFields(doc, (name) => !fields.has(name));

/** The fields of a document but some. */
const hiddenIn = (doc: string, fields: ReadonlySet<string>): JsonObject => {
  const members = Object.entries(JSON.parse(doc) as JsonObject);
  return Object.fromEntries(members.filter(([name]) => !fields.has(name) && !OWN_MEMBERS.includes(name)));
};
