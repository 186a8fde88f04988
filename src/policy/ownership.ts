import { callerOf, type ScopeRequirement } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import type { BeforeWrite, ValidatedInput } from '../collection/validated-input.js';
import type { Db, Run } from '../db/db.js';
import { forbidden } from '../errors/caller-errors.js';
import { Problem } from '../errors/problem.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type Json, type JsonObject, member } from '../json.js';
import type { Collection } from '../list/open-collection.js';
import { unescapeName } from '../list/query-names.js';
import { parseUuid } from '../uuid.js';
import { isAbout, type Verb } from './policy.js';
import type { ScopedCollection } from './scoped-collection.js';

/**
 * The field that a grant of a collection without access rules compares with the caller: `id` of callers, a reference of other
 * records. Undefined: no grant permits callers something with their own records. The conditions of access rules are compared by
 * statements of the database.
 */
export function ownField({ hasRules, grants }: Resource, verb: Verb): string | undefined {
  const grant = hasRules ? undefined : grants.find((each) => each.where !== undefined && isAbout(each, verb));
  const [name] = Object.keys((grant?.where ?? {}) as object);
  return name === undefined ? undefined : unescapeName(name);
}

/** The ownership that is sufficient for a caller with the scope `self`, by the grants of a collection. */
export function ownershipOf(resource: Resource, verb: Verb): ScopeRequirement['ownership'] {
  if (resource.hasRules) return 'rules';
  const field = ownField(resource, verb);
  if (field === undefined) return undefined;
  return field === 'id' ? 'path' : 'record';
}

/**
 * Restricts an action on a record to the records that a grant permits to their owner. Other callers' records and missing ones are the
 * same 403, and neither is locked. During a read and in a transaction, the caller's own record is locked. Other writes compare the
 * record that they read with the caller, and are for the version that they read.
 */
export function restrictToOwnRecord(db: Db, scoped: ScopedCollection, verb: Verb, action: Action): Action {
  // A caller's own path was compared before.
  if (ownershipOf(scoped.resource, verb) !== 'record') return action;
  const requireThis = (request: Request) =>
    requireOwn(scoped, verb, [parseUuid(request.params.id ?? '')], request);
  return {
    ...action,
    authorize: (request) => (request.permission === 'own' ? requireThis(request) : undefined),
    run: async (request) => {
      if (request.permission !== 'own') return action.run(request);
      if (verb !== 'read' && !request.run)
        try {
          return await action.run(request);
        } catch (error) {
          // Nothing else is wrong with a request about the record of another caller.
          if (error instanceof Problem) await requireThis(request);
          throw error;
        }
      const work = async (run: Run) => {
        await requireThis({ ...request, run });
        return action.run({ ...request, run });
      };
      return request.run ? work(request.run) : db.transaction(work);
    },
  };
}

/** Throws 403 for the record of another caller, if the caller may write its own alone; undefined: it may write all, or its own path. */
export function ownerCheck(
  { resource }: Pick<ScopedCollection, 'resource'>,
  verb: Verb,
  { permission, principal }: Request,
): ((record: JsonObject) => void) | undefined {
  if (permission !== 'own' || ownershipOf(resource, verb) !== 'record') return undefined;
  const [field, own] = [ownField(resource, verb)!, parseUuid(principal.subject)];
  return (record) => {
    if (own === undefined || member(record, field) !== own) throw forbidden([resource.scopes.write]);
  };
}

/** Restricts the creation of a record, whose body names its parent, to records that a grant permits to their owner. */
export function restrictCreationToOwn({ resource }: ScopedCollection, action: Action): Action {
  const field = ownField(resource, 'create');
  // Without such a grant, each creation needs a scope.
  if (field === undefined) return action;
  const authorize = ({ permission, principal, body }: Request): void => {
    if (permission !== 'own') return;
    const value = body?.value;
    const parent = isObject(value) ? member(value, field) : undefined;
    if (typeof parent !== 'string' || parent.toLowerCase() !== principal.subject.toLowerCase())
      throw forbidden([resource.scopes.write]);
  };
  return {
    ...action,
    authorize,
    run: (request) => {
      authorize(request);
      return action.run(request);
    },
  };
}

/**
 * Validates the body of a write. A caller that may write only its own records gets the same 403 for every other parent,
 * existing or not. Throws as `check`.
 */
export function validatePermitted(
  collection: Collection,
  input: Json | undefined,
  request: Request,
  present?: BeforeWrite,
): ValidatedInput {
  const { resource } = collection;
  const check = () => collection.check(input, 'request', present, callerOf(request.principal));
  if (request.permission !== 'own' || ownershipOf(resource, 'update') !== 'record') return check();
  const draft = withoutUnknown(check);
  const field = ownField(resource, 'update')!;
  if (draft === undefined || draft.fields[field] !== parseUuid(request.principal.subject))
    throw forbidden([resource.scopes.write]);
  return draft;
}

/** Undefined: the parent's id is not an id. */
function withoutUnknown(check: () => ValidatedInput): ValidatedInput | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof Problem && error.status === 422) return undefined;
    throw error;
  }
}

/** The caller as the parent of the records that a request is about; undefined: it is about all. Throws 403 for a caller that is no parent. */
export function ownParent(
  { resource: { scopes } }: ScopedCollection,
  { permission, principal, method }: Pick<Request, 'permission' | 'principal' | 'method'>,
): string | undefined {
  if (permission !== 'own') return undefined;
  const own = parseUuid(principal.subject);
  const isWrite = method === 'PATCH' || method === 'DELETE';
  if (own === undefined) throw forbidden([isWrite ? scopes.write : scopes.read]);
  return own;
}

/** Throws 403 unless some records are the caller's own, if it may access no others. Within a transaction, they are locked. */
export async function requireOwn(
  scoped: ScopedCollection,
  verb: Verb,
  ids: readonly (string | undefined)[],
  request: Pick<Request, 'principal' | 'permission' | 'run'>,
): Promise<void> {
  const { resource } = scoped;
  if (request.permission !== 'own' || ownershipOf(resource, verb) !== 'record') return;
  const known = ids.filter((id) => id !== undefined);
  const own = await ownIds(scoped, verb, known, request);
  if (known.length < ids.length || !known.every((id) => own.has(id)))
    throw forbidden([verb === 'read' ? resource.scopes.read : resource.scopes.write]);
}

/** Whether a grant permits something with a record to its owner, who is the caller: within a transaction, it is then locked. */
export const isOwn = async (
  scoped: ScopedCollection,
  verb: Verb,
  id: string,
  request: Pick<Request, 'principal' | 'run'>,
): Promise<boolean> => (await ownIds(scoped, verb, [id], request)).has(id);

/**
 * The ids of those of some records with which a grant permits something to their owner, who is the caller: within a transaction,
 * these are locked.
 */
async function ownIds(
  { resource, whole }: ScopedCollection,
  verb: Verb,
  ids: readonly string[],
  { principal, run }: Pick<Request, 'principal' | 'run'>,
): Promise<ReadonlySet<string>> {
  const subject = parseUuid(principal.subject);
  const field = ownField(resource, verb);
  if (subject === undefined || field === undefined) return new Set();
  return field === 'id' ? new Set([subject]) : whole.belonging(ids, subject, run);
}
