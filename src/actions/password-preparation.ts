import type { SignInChange } from '../auth/accounts.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { passwordNotGiven } from '../errors/caller-errors.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type Json, member } from '../json.js';
import { hashPassword } from '../passwords/password.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';

/** Lengths of a password that the rules may accept; others are left to the rules. */
const [MIN_LENGTH, MAX_LENGTH] = [8, 256];

/**
 * The preparation of a write, if its body has a password: verifies the current one and hashes the new one, before a transaction begins.
 * `check` throws for an invalid body, which needs no hash. `confirm` confirms a change of how the caller signs in, by the current
 * password if that is required: 403, 429 and 503.
 */
export function passwordPreparation(
  { resource }: Pick<ScopedCollection, 'resource'>,
  check?: (request: Request) => unknown,
  confirm?: (request: Request, change: SignInChange) => Promise<unknown>,
): Action['prepare'] {
  if (!resource.hasPasswords) return undefined;
  return (request) => {
    const textOf = (name: string): string | undefined => {
      const given = givenIn(request.body?.value, name);
      return typeof given === 'string' ? given : undefined;
    };
    const [given, currentPassword] = [textOf('password'), textOf('current_password')];
    const length = given?.length ?? 0;
    const password = length >= MIN_LENGTH && length <= 2 * MAX_LENGTH ? given : undefined;
    if (password === undefined && (!confirm || currentPassword === undefined)) return undefined;
    return async () => {
      check?.(request);
      await confirm?.(request, { email: textOf('email'), password, currentPassword });
      if (password === undefined) return request;
      return { ...request, passwordHashes: [{ password, hash: await hashPassword(password) }] };
    };
  };
}

/** A field of a record or a merge patch; in a JSON Patch, the last value that it adds or replaces. */
function givenIn(value: Json | undefined, name: string): Json | undefined {
  if (isObject(value)) return member(value, name);
  if (!Array.isArray(value)) return undefined;
  for (const operation of value.toReversed()) {
    if (!isObject(operation)) continue;
    const given = member(operation, 'value');
    const path = member(operation, 'path');
    if (path === `/${name}`) return given;
    if (path === '' && isObject(given)) return member(given, name);
  }
  return undefined;
}

/**
 * The input with the hash of its password. Throws 422 in a transaction if a JSON Patch has moved or copied a value into
 * the password: it would have to be hashed while records are locked.
 */
export function withPasswordHash(draft: ValidatedInput, { passwordHashes, run }: Request): ValidatedInput {
  if (draft.password === undefined) return draft;
  const made = passwordHashes?.[0];
  if (made?.password === draft.password) return { ...draft, passwordHash: made.hash };
  if (run) throw passwordNotGiven();
  return draft;
}
