import type { Collection } from '../collection/collection.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { passwordNotGiven } from '../errors/credential-errors.js';
import type { Request } from '../http/request.js';
import { isObject, type Json, member } from '../json.js';
import { hashPassword } from '../passwords/password.js';

/** Lengths of a password that the rules may accept; others are left to the rules. */
const [MIN_LENGTH, MAX_LENGTH] = [8, 256];

/** Confirms that the caller may set a password, by the current one if that is required. Throws 403, 429 and 503. */
export type ConfirmPassword = (
  passwords: Pick<ValidatedInput, 'password' | 'currentPassword'>,
) => Promise<void> | undefined;

/**
 * Confirms and hashes the password that a body sets, before a transaction begins. Undefined: it sets none. `check` throws
 * for an invalid body, which needs no hash.
 */
export function passwordPreparation(
  { resource }: Collection,
  request: Request,
  check?: () => unknown,
  confirm?: ConfirmPassword,
): (() => Promise<Request>) | undefined {
  if (!resource.hasPasswords) return undefined;
  const password = givenIn(request.body?.value, 'password');
  if (typeof password !== 'string' || password.length < MIN_LENGTH || password.length > 2 * MAX_LENGTH)
    return undefined;
  return async () => {
    check?.();
    const current = givenIn(request.body?.value, 'current_password');
    await confirm?.({ password, currentPassword: typeof current === 'string' ? current : undefined });
    return { ...request, passwordHashes: [{ password, hash: await hashPassword(password) }] };
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
