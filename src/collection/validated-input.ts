import { isDeepStrictEqual } from 'node:util';
import type { VerifiedPassword } from '../auth/accounts.js';
import { invalid, invalidBody } from '../errors/input-errors.js';
import { unknownReference } from '../errors/record-errors.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from '../json.js';
import { parseUuid } from '../uuid.js';
import { isFinerThanMilliseconds } from '../validation/times.js';
import { compileOnFirstUse } from '../validation/validation.js';
import { type ColumnValue, columnValue, MAX_INDEXED_BYTES } from './column.js';
import type { HiddenPart } from './record.js';
import type { Reference, Resource, SetField, UniqueKey } from './resource.js';

/** A validated body: the record's fields, its columns, and separately a password. */
export interface ValidatedInput {
  readonly fields: JsonObject;
  readonly columns: readonly ColumnValue[];
  readonly password: string | undefined;
  /** The current password, which proves that the caller may change it. */
  readonly currentPassword: string | undefined;
  /** The hash of the password: made beforehand, or imported. */
  readonly passwordHash: string | undefined;
  readonly passwordRules: Resource['passwordRules'];
  /** The fields that the request sets although the caller may not read them; absent: none. */
  readonly unseen?: readonly string[];
  /** The caller, as events name it; undefined: unknown. */
  readonly caller?: string | undefined;
  /** The password that has confirmed the change, if one had to: the change commits only while that one is current. */
  readonly confirmedBy?: VerifiedPassword | undefined;
}

/** Where a record comes from: a client's request, or an operator's file. */
export type Origin = 'request' | 'import';

/** The record that a request changes, whose read-only fields remain; `isPatch`: write-only fields remain as well. */
export interface BeforeWrite {
  readonly record: JsonObject;
  readonly isPatch: boolean;
  /** The part of the record that the caller may not read, and that remains. */
  readonly hidden?: HiddenPart | undefined;
}

/** Compiles the validation of bodies. It throws 400 with every failure, or 422 for a reference to a missing record. */
export function compileInput(
  resource: Resource,
): (input: Json | undefined, origin?: Origin, present?: BeforeWrite, caller?: string) => ValidatedInput {
  const check = compileOnFirstUse(resource);
  const keys = resource.unique.filter(({ fields }) => fields.length > 1);
  return (given, origin = 'request', present, caller) => {
    const isRequest = origin === 'request';
    const allowed =
      resource.readOnly.length > 0 && isRequest ? withReadOnly(given, resource, present) : given;
    const input = resource.set.length > 0 ? withSet(allowed, resource, present, isRequest, caller) : allowed;
    if (resource.importOnly.length > 0 && isRequest) requireRequestFields(input, resource.importOnly);
    const { fields, writeOnly } = check(input);
    if (resource.set.length > 0) setWhere(fields, resource, present?.record, isRequest, caller);
    for (const reference of resource.references) canonicalizeReference(fields, reference);
    if (present && resource.immutable.length > 0)
      requireUnchanged(
        fields,
        resource.immutable,
        present.record,
        'cannot change after the creation',
        'immutable',
      );
    const columns = columnsOf(resource, fields, present?.record);
    for (const key of keys) requireIndexable(key, fields);
    if (resource.writeOnly.length > 0) columns.push(storedWriteOnly(resource, writeOnly, present));
    return { fields, columns, caller, ...passwordsIn(resource, writeOnly) };
  };
}

const NO_PASSWORDS = {
  password: undefined,
  currentPassword: undefined,
  passwordHash: undefined,
  passwordRules: undefined,
};

function passwordsIn(
  { hasPasswords, passwordRules }: Resource,
  writeOnly: JsonObject,
): Pick<ValidatedInput, keyof typeof NO_PASSWORDS> {
  if (!hasPasswords) return NO_PASSWORDS;
  const { password, current_password, password_hash } = writeOnly as Record<string, string | undefined>;
  if (password !== undefined && password_hash !== undefined)
    throw invalidBody('must not be given together with password', 'not', '/password_hash');
  return { password, currentPassword: current_password, passwordHash: password_hash, passwordRules };
}

/** Throws 400 for fields that requests may not set. */
function requireRequestFields(input: Json | undefined, importOnly: readonly string[]): void {
  if (!isObject(input)) return;
  const failures = importOnly
    .filter((name) => (member(input, name) ?? null) !== null)
    .map((name) => ({ path: `/${name}`, message: 'can be set by an import only', keyword: 'importOnly' }));
  if (failures.length > 0) throw invalid(failures);
}

function canonicalizeReference(fields: JsonObject, { field, singular, isList }: Reference): void {
  // A field that is required may be null, and then it refers to no record.
  if ((member(fields, field) ?? null) === null) return;
  const canonical = (value: Json, index?: number) => {
    const id = parseUuid(String(value));
    if (id === undefined) throw unknownReference(field, singular, index);
    return id;
  };
  fields[field] = isList ? (fields[field] as Json[]).map(canonical) : canonical(fields[field]!);
}

/** Throws 400 for a text that is too long for an index, and for another time than before that its column would round. */
function columnsOf({ columns }: Resource, fields: JsonObject, before?: JsonObject): ColumnValue[] {
  const values: ColumnValue[] = [];
  for (const [field, column] of columns) {
    if (column.type === 'jsonb') continue;
    const given = member(fields, field);
    const isFiner = column.isInstant && [given].flat().some((each) => isFinerThanMilliseconds(String(each)));
    if (isFiner && !isDeepStrictEqual(given, before && member(before, field)))
      throw invalidBody('must not be finer than milliseconds', 'format', `/${escapeToken(field)}`);
    const value = columnValue(column, given);
    if (value === undefined)
      throw invalidBody(
        `must not have more than ${MAX_INDEXED_BYTES} bytes`,
        'maxBytes',
        `/${escapeToken(field)}`,
      );
    values.push(value);
  }
  return values;
}

/** Throws 400 for texts that are too long for the index that they share. */
function requireIndexable({ fields: names }: UniqueKey, fields: JsonObject): void {
  const texts = names.map((name) => member(fields, name)).filter((value) => typeof value === 'string');
  if (texts.length > 1 && Buffer.byteLength(texts.join('')) > MAX_INDEXED_BYTES)
    throw invalidBody(
      `must not have more than ${MAX_INDEXED_BYTES} bytes together with ${names.slice(1).join(' and ')}`,
      'maxBytes',
      `/${escapeToken(names[0]!)}`,
    );
}

/**
 * A body with the present values of the fields that requests do not set. Throws 400 for a patch that changes one, and for
 * every write that gives another value to one that the service sets.
 */
function withReadOnly(input: Json | undefined, resource: Resource, present?: BeforeWrite): Json | undefined {
  if (!isObject(input)) return input;
  const { readOnly, set, numbers } = resource;
  const before = present?.record ?? {};
  // A body that is no result of a patch need not repeat them.
  const own = [...set, ...numbers]
    .map(({ field }) => field)
    .filter((name) => present?.isPatch || (member(input, name) ?? null) !== null);
  if (own.length > 0) requireUnchanged(input, own, before, 'is read-only: the service sets it', 'readOnly');
  if (present?.isPatch)
    requireUnchanged(input, readOnly, before, 'is read-only: only an import can change it', 'readOnly');
  const result = { ...input };
  for (const name of readOnly) {
    delete result[name];
    const value = member(before, name);
    if (value !== undefined) setMember(result, name, value);
  }
  return result;
}

/** A body with the caller and the time where the declaration asks for them. The values of an import remain. */
function withSet(
  input: Json | undefined,
  { set }: Resource,
  present: BeforeWrite | undefined,
  isRequest: boolean,
  caller: string | undefined,
): Json | undefined {
  if (!isObject(input)) return input;
  const result = { ...input };
  for (const { field, on, when, ...source } of set) {
    const isDue = isRequest ? !present || on === 'write' : (member(input, field) ?? null) === null;
    if (isDue && !when) setFrom(result, field, source, caller);
  }
  return result;
}

/**
 * Sets the fields of a validated body whose condition begins to hold with it, and removes those whose condition does not hold.
 * `before`: the record that the body changes. The values of an import remain.
 */
function setWhere(
  fields: JsonObject,
  { set }: Resource,
  before: JsonObject | undefined,
  isRequest: boolean,
  caller: string | undefined,
): void {
  for (const { field, when, ...source } of set) {
    if (!when || (!isRequest && (member(fields, field) ?? null) !== null)) continue;
    if (!fulfils(fields, when)) delete fields[field];
    else if (!before || !fulfils(before, when)) setFrom(fields, field, source, caller);
  }
}

const fulfils = (record: JsonObject, when: NonNullable<SetField['when']>): boolean =>
  when.every(([name, values]) =>
    values.some((value) => isDeepStrictEqual(member(record, name) ?? null, value)),
  );

function setFrom(
  record: JsonObject,
  field: string,
  { value, isReference }: Pick<SetField, 'value' | 'isReference'>,
  caller: string | undefined,
): void {
  const known = isReference && caller !== undefined ? parseUuid(caller) : caller;
  const next = value === 'now' ? new Date().toISOString() : known;
  if (next === undefined) delete record[field];
  else setMember(record, field, next);
}

/** Throws 400 with each of these fields that has another value than in the record. */
function requireUnchanged(
  input: JsonObject,
  names: readonly string[],
  record: JsonObject,
  message: string,
  keyword: string,
): void {
  const value = (of: JsonObject, name: string) => member(of, name) ?? null;
  const failures = names
    .filter((name) => !isDeepStrictEqual(value(input, name), value(record, name)))
    .map((name) => ({ path: `/${escapeToken(name)}`, message, keyword }));
  if (failures.length > 0) throw invalid(failures);
}

/** The write-only fields to store: null removes one. A patch removes none that it does not name. */
function storedWriteOnly({ writeOnly }: Resource, given: JsonObject, present?: BeforeWrite): JsonObject {
  const names = present?.isPatch ? writeOnly.filter((name) => Object.hasOwn(given, name)) : writeOnly;
  return Object.fromEntries(names.map((name) => [name, member(given, name) ?? null]));
}
