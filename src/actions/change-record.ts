import {
  type AccountProtection,
  type SignInChange,
  type VerifiedPassword,
  verifiedPasswordOf,
} from '../auth/accounts.js';
import { callerOf } from '../auth/principal.js';
import { admitsRecord, type Present } from '../collection/changes.js';
import { isStored, type StoredRecord } from '../collection/record.js';
import { etagOf, validatorFields, withLinks } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import type { BeforeWrite, ValidatedInput } from '../collection/validated-input.js';
import { type WritePreconditions, writePreconditionsOf } from '../collection/write-preconditions.js';
import type { Run } from '../db/db.js';
import { currentPasswordRequired, writeDenied } from '../errors/caller-errors.js';
import type { Problem } from '../errors/problem.js';
import { preconditionFailed, preconditionRequired, versionConflict } from '../errors/record-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import { prefersMinimal, type Request } from '../http/request.js';
import { isObject, type Json, member } from '../json.js';
import { ofDocument } from '../limits/turn.js';
import type { Collection } from '../list/open-collection.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { notFoundProblem } from './get.js';
import { withPasswordHash } from './password-preparation.js';

/** Settings for writes. */
export interface WriteSettings {
  /** Bytes of a body, and of a record. */
  readonly bodyLimit: number;
  /** PUT, PATCH and DELETE without If-Match are 428. */
  readonly requireIfMatch: boolean;
  /** Undefined: no record has a password. */
  readonly accounts?: AccountProtection | undefined;
}

/** The preconditions of a write from its header fields. Throws 400 for invalid ones, 428 if one is required and missing. */
export function readWritePreconditions(
  { resource }: Pick<ScopedCollection, 'resource'>,
  { headers }: Request,
  settings: WriteSettings,
): WritePreconditions {
  const required = resource.requireIfMatch ?? settings.requireIfMatch;
  if (required && headers['if-match'] === undefined) throw preconditionRequired();
  return writePreconditionsOf(readConditions(headers));
}

/**
 * Requires the current password from a caller that may write only its own record and changes how it signs in, and the scopes of
 * the user from one that may write every record. Undefined if that is not needed, and for an invalid id; else the password that
 * confirms the change. A caller that may write every record sets passwords only while its own sign-in is valid. Throws 403, 429,
 * 503.
 */
function confirmSignInChange(
  collection: Collection,
  { permission, principal, params, run }: Request,
  change: SignInChange,
  { accounts }: WriteSettings,
): Promise<VerifiedPassword | undefined> | undefined {
  if (!collection.resource.hasPasswords) return undefined;
  if (permission === 'all' && principal.scopes.has('admin')) {
    const verified = change.password === undefined ? undefined : verifiedPasswordOf(principal);
    return verified && Promise.resolve(verified);
  }
  if (!accounts) throw currentPasswordRequired();
  const id = parseUuid(params.id ?? '');
  if (id === undefined) return undefined;
  const requirePermitted = () => requireWritable(collection, id, 'change', run);
  return accounts.confirm({ principal, permission, requirePermitted }, id, change);
}

/** Throws 403 if access rules do not permit the caller to change, or to delete, a record. */
export async function requireWritable(
  collection: Collection,
  id: string,
  verb: 'change' | 'delete',
  run: Run | undefined,
): Promise<void> {
  const writes = await collection.writesOf?.(id, run);
  if (writes && !(verb === 'change' ? writes.update : writes.remove)) throw writeDenied(verb);
}

/**
 * Requires what `confirmSignInChange` requires, before the record is read. A record that is not there for the caller needs nothing, so
 * that the response does not tell whether it exists.
 */
export const confirmInAdvance =
  (scoped: ScopedCollection, settings: WriteSettings) =>
  async (request: Request, change: SignInChange): Promise<void> => {
    const id = parseUuid(request.params.id ?? '');
    const collection = scoped.as(request);
    if (id !== undefined && (await isThere(collection, id, request.run)))
      await confirmSignInChange(collection, request, change, settings);
  };

/** Whether a caller that may not read all records may read a record; true for other callers. */
export const isThere = async (collection: Collection, id: string, run: Run | undefined): Promise<boolean> =>
  collection.access === undefined || collection.exists(id, run);

/** The parts of validated input with which a user signs in. */
function signInChangeOf({ fields, password, currentPassword, unseen }: ValidatedInput): SignInChange {
  const given = member(fields, 'email');
  const email = typeof given === 'string' ? given : undefined;
  return { email, isEmailUnseen: unseen?.includes('email') ?? false, password, currentPassword };
}

/** The `_version` in a body. Undefined: there is none. 0: it is not a version. */
export function expectedVersion(value: Json | undefined): number | undefined {
  const version = isObject(value) ? member(value, '_version') : undefined;
  if (version === undefined) return undefined;
  return typeof version === 'number' && Number.isInteger(version) && version > 0 && version < 2 ** 31
    ? version
    : 0;
}

/**
 * The 412 of the preconditions that a record violates, or else the 409 of the `_version` in the body. A long record is parsed in a
 * tick of its own.
 */
export async function preconditionProblem(
  resource: Resource,
  current: StoredRecord,
  preconditions: WritePreconditions,
  { prefix, permission, principal }: Request,
): Promise<Problem> {
  const problem = admitsRecord(preconditions, current) ? versionConflict : preconditionFailed;
  // `self:delete` alone permits no reading.
  if (problem === preconditionFailed && permission === 'own' && !principal.scopes.has('self'))
    return preconditionFailed();
  return ofDocument(withLinks(resource, current, prefix), (record) => problem(etagOf(current), record));
}

/** The body of a change, and the record with which it is compared. */
type Draft = { readonly body: Json | undefined; readonly before: BeforeWrite | undefined };

/** A change of one record by a request. */
interface RecordChange {
  readonly settings: WriteSettings;
  readonly preconditions: WritePreconditions;
  /** The `_version` that the body names. */
  readonly expected?: number | undefined;
  /** Whether `draft` needs the record before the change. */
  readonly isRead: boolean;
  readonly draft: (present: Present | undefined) => Draft | Promise<Draft>;
}

/** Validates a body, for a change with the record before it. Throws as `check`. */
export function checkedInput(
  { check, resource }: Collection,
  request: Request,
  body = request.body?.value,
  before?: BeforeWrite,
): ValidatedInput {
  const input = check(body, 'request', before, callerOf(request.principal));
  return resource.hasPasswords ? withPasswordHash(input, request) : input;
}

/** Changes the record in the path of a request: 200, 204, and the errors of the preconditions, the validation and the statement. */
export async function changeRecord(
  scoped: ScopedCollection,
  request: Request,
  change: RecordChange,
): Promise<Reply> {
  const { settings, preconditions, expected, isRead, draft } = change;
  const { resource } = scoped;
  const collection = scoped.as(request);
  const id = parseUuid(request.params.id ?? '');
  const validated = async (present: Present | undefined): Promise<ValidatedInput> => {
    const { body, before } = await draft(present);
    return checkedInput(collection, request, body, before);
  };
  const next = async (present: Present | undefined): Promise<ValidatedInput> => {
    const input = await validated(present);
    const confirmed = confirmSignInChange(collection, request, signInChangeOf(input), settings);
    const confirmedBy = confirmed && (await confirmed);
    return confirmedBy === undefined ? input : { ...input, confirmedBy };
  };
  const { versions } = preconditions;
  const fits = expected !== undefined && (versions === null || versions.includes(expected));
  const only =
    expected === undefined ? preconditions : { ...preconditions, versions: fits ? [expected] : [] };
  const outcome =
    id === undefined
      ? 'absent'
      : await collection.change(id, { preconditions: only, isRead, next }, request.run);
  if (typeof outcome === 'string') {
    // A body is not compared with a record that is not there for the caller, and is invalid whether the record exists or not.
    if (request.method === 'PUT' && collection.access === undefined) await validated(undefined);
    throw notFoundProblem({ ...resource, absent: 'simple' }, outcome, JSON_TYPE);
  }
  if (isStored(outcome)) return writtenReply(200, resource, outcome, request);
  throw await preconditionProblem(resource, outcome.current, preconditions, request);
}

/** 200 or 201 with the record, or without it with `Prefer: return=minimal` (RFC 7240 section 4.2); `more`: fields before its validators. */
export function writtenReply(
  status: 200 | 201,
  resource: Resource,
  stored: StoredRecord,
  { headers, prefix }: Request,
  more: readonly string[] = [],
): Reply {
  const fields = [...more, ...validatorFields(stored)];
  if (prefersMinimal(headers.prefer))
    return {
      status: status === 201 ? 201 : 204,
      headers: ['Preference-Applied', 'return=minimal', ...fields],
    };
  return {
    status,
    headers: ['Content-Type', JSON_TYPE, ...fields],
    body: withLinks(resource, stored, prefix),
    record: stored,
    collection: resource.name,
  };
}
