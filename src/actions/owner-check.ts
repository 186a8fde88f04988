import type { Guarded } from '../access/guarded-collection.js';
import type { Resource } from '../collection/resource.js';
import type { BeforeWrite, ValidatedInput } from '../collection/validated-input.js';
import type { Db, Run } from '../db/db.js';
import { forbidden } from '../errors/caller-errors.js';
import { Problem } from '../errors/problem.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type Json, member } from '../json.js';
import type { Collection } from '../list/open-collection.js';
import { callerOf } from '../principal.js';
import { parseUuid } from '../uuid.js';

/** The reference that the grant of `nested` compares with the caller; undefined: there is no such grant. */
export const conditionField = ({ isRuled, owner, callerField }: Resource): string | undefined =>
  isRuled || owner ? undefined : callerField;

/**
 * Restricts an action on a record to callers that own its parent. Other callers' records and missing ones are the same 403,
 * and neither is locked. The caller's own record is locked during the action.
 */
export function restrictToOwnRecord(db: Db, guarded: Guarded, action: Action): Action {
  if (conditionField(guarded.resource) === undefined) return action;
  return {
    ...action,
    authorize: (request) => (request.permission === 'own' ? requireOwn(guarded, request) : undefined),
    run: (request) => {
      if (request.permission !== 'own') return action.run(request);
      const work = async (run: Run) => {
        await requireOwn(guarded, request, run);
        return action.run({ ...request, run });
      };
      return request.run ? work(request.run) : db.transaction(work);
    },
  };
}

/** Restricts the creation of a record, whose body names its parent, to the caller's own. No caller creates callers by `self`. */
export function restrictCreationToOwn({ resource }: Guarded, action: Action): Action {
  const { isRuled, owner, callerField: field } = resource;
  if (isRuled || field === undefined) return action;
  const authorize = ({ permission, principal, body }: Request): void => {
    const value = body?.value;
    const parent = isObject(value) && !owner ? member(value, field) : undefined;
    const isPermitted =
      typeof parent === 'string' && parent.toLowerCase() === principal.subject.toLowerCase();
    if (permission === 'own' && !isPermitted) throw forbidden([resource.scopes.write]);
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
  const field = conditionField(collection.resource);
  const check = () => collection.check(input, 'request', present, callerOf(request.principal));
  if (request.permission !== 'own' || field === undefined) return check();
  const draft = withoutUnknown(check);
  if (draft === undefined || draft.fields[field] !== parseUuid(request.principal.subject))
    throw forbidden([collection.resource.scopes.write]);
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

/** Throws 403 unless the record is the caller's own. Within a transaction, it is locked. */
async function requireOwn(
  guarded: Guarded,
  { method, params, principal }: Request,
  run?: Run,
): Promise<void> {
  const id = parseUuid(params.id ?? '');
  const { read, write } = guarded.resource.scopes;
  if (id === undefined || !(await isOwn(guarded, id, { principal, run })))
    throw forbidden([method === 'GET' || method === 'HEAD' ? read : write]);
}

/** Whether a record is the caller, or belongs to it: then it is locked within a transaction. */
export async function isOwn(
  { resource: { owner, callerField }, whole }: Guarded,
  id: string,
  { principal, run }: Pick<Request, 'principal' | 'run'>,
): Promise<boolean> {
  const subject = parseUuid(principal.subject);
  if (subject === undefined || callerField === undefined) return false;
  return owner ? id === subject : whole.belongs(id, subject, run);
}
