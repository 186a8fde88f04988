import { type Principal, permissionOf, STRANGER } from '../auth/principal.js';
import type { Permitted } from './router.js';

/**
 * Whether a caller may see an endpoint: it may use it with the path of `params`, or else with some path, which may be that of
 * its own record.
 */
export function visible(
  caller: Principal,
  { requires }: Permitted,
  params: Readonly<Record<string, string | undefined>> = { id: caller.subject },
): boolean {
  return requires === 'credential'
    ? caller !== STRANGER
    : permissionOf(caller, requires, params) !== undefined;
}
