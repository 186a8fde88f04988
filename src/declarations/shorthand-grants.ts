import type { DeclaredGrant, Reference, Resource } from '../collection/resource.js';
import { COMBINATIONS } from '../list/query-names.js';
import type { CollectionOptions } from './declaration.js';

/**
 * The permissions of a collection: its access rules, or the grants for which its shorthands stand. `callers`: the reference to the
 * collection of callers below which the records are nested.
 */
export function permissionsOf(
  { access, public: isPublic, owner }: CollectionOptions,
  { read, write }: Resource['scopes'],
  callers: Reference | undefined,
): Pick<Resource, 'grants' | 'isRuled' | 'callerField'> {
  const callerField = owner ? 'id' : callers?.field;
  if (access) return { grants: access, isRuled: true, callerField };
  const ofCaller: DeclaredGrant[] =
    callerField === undefined
      ? []
      : [{ can: owner ? ['read', 'update', 'delete'] : 'all', where: { [nameIn(callerField)]: '$caller' } }];
  const grants: DeclaredGrant[] = [
    isPublic ? { can: 'read', to: 'anyone' } : { can: 'read', scope: read },
    { can: 'all', scope: write },
    ...ofCaller,
  ];
  return { grants, isRuled: false, callerField };
}

/** The name of a field in conditions. */
const nameIn = (field: string): string => (COMBINATIONS.has(field) ? `\\${field}` : field);
