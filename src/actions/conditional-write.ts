import type { Guarded } from '../access/guarded-collection.js';
import type { AccountProtection, SignInChange } from '../auth/current-password.js';
import { type VerifiedPassword, verifiedPasswordOf } from '../auth/verified-password.js';
import { modifiedAt } from '../collection/document.js';
import type { PreconditionFailed, StoredRecord } from '../collection/record.js';
import { etagOf, headersOf, validatorFields, withLinks } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import {
  admits,
  NO_PRECONDITIONS,
  type WritePreconditions,
  writePreconditionsOf,
} from '../collection/write-preconditions.js';
import type { Run } from '../db/db.js';
import { currentPasswordRequired, writeDenied } from '../errors/caller-errors.js';
import { preconditionFailed, preconditionRequired, versionConflict } from '../errors/record-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import { readConditions } from '../http/preconditions.js';
import { prefersMinimal } from '../http/prefer.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { isObject, type Json, member } from '../json.js';
import { ofDocument } from '../limits/turn.js';
import type { Collection } from '../list/open-collection.js';
import { parseUuid } from '../uuid.js';

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
  { resource }: Pick<Guarded, 'resource'>,
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
export function confirmSignInChange(
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
export async function confirmInAdvance(
  guarded: Guarded,
  request: Request,
  change: SignInChange,
  settings: WriteSettings,
): Promise<void> {
  const id = parseUuid(request.params.id ?? '');
  const collection = guarded.as(request);
  if (id !== undefined && (await isThere(collection, id, request.run)))
    await confirmSignInChange(collection, request, change, settings);
}

/** Whether a caller that may not read all records may read a record; true for other callers. */
export const isThere = async (collection: Collection, id: string, run: Run | undefined): Promise<boolean> =>
  collection.access === undefined || collection.exists(id, run);

/** The parts of validated input with which a user signs in. */
export function signInChangeOf({ fields, password, currentPassword, unseen }: ValidatedInput): SignInChange {
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

/** The preconditions narrowed to one version: the one that a patch was applied to, or that a body names. */
export function narrowToVersion(
  preconditions: WritePreconditions,
  version: number | undefined,
): WritePreconditions {
  if (version === undefined) return preconditions;
  const fits = preconditions.versions === null || preconditions.versions.includes(version);
  return { ...preconditions, versions: fits ? [version] : [] };
}

/**
 * Rejects with the 412 of the preconditions or the 409 of `_version` that the current record violates. Resolves if it violates
 * neither: then the record has changed meanwhile, and the write is to be attempted again. A long record is parsed in a long task.
 */
export async function requirePreconditions(
  resource: Resource,
  { current }: PreconditionFailed,
  preconditions: WritePreconditions,
  expected: number | undefined,
  { prefix, permission, principal }: Request,
): Promise<void> {
  const shown = () => withLinks(resource, current, prefix);
  if (preconditions !== NO_PRECONDITIONS && !admits(preconditions, current.version, modifiedAt(current))) {
    // `self:delete` alone permits no reading.
    if (permission === 'own' && !principal.scopes.has('self')) throw preconditionFailed();
    throw await ofDocument(shown(), (record) => preconditionFailed(etagOf(current), record));
  }
  if (expected !== undefined && expected !== current.version)
    throw await ofDocument(shown(), (record) => versionConflict(etagOf(current), record));
}

/**
 * Requires the preconditions of a change, as `requirePreconditions` does. If they fail, rejects with 403 if access rules permit no
 * change of the record: RFC 9110 section 13.2.1 has no preconditions for a request that fails without them.
 */
export async function requireChangePreconditions(
  collection: Collection,
  failed: PreconditionFailed,
  preconditions: WritePreconditions,
  expected: number | undefined,
  request: Request,
): Promise<void> {
  try {
    await requirePreconditions(collection.resource, failed, preconditions, expected, request);
  } catch (error) {
    await requireWritable(collection, failed.current.id, 'change', request.run);
    throw error;
  }
}

/** 200 with the record, or 204 with `Prefer: return=minimal` (RFC 7240 section 4.2). */
export function writtenReply(resource: Resource, stored: StoredRecord, request: Request): Reply {
  const validators = validatorFields(stored);
  if (prefersMinimal(request.headers.prefer)) {
    return { status: 204, headers: ['Preference-Applied', 'return=minimal', ...validators] };
  }
  return {
    status: 200,
    headers: [...headersOf(JSON_TYPE), ...validators],
    body: withLinks(resource, stored, request.prefix),
    record: stored,
    collection: resource.name,
  };
}
