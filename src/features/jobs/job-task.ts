import type { Permission, Principal } from '../../auth/principal.js';
import { badRequest } from '../../errors/request-errors.js';
import type { ScopedCollection } from '../../feature.js';
import { NO_QUERY } from '../../http/query-parameters.js';
import type { Request } from '../../http/request.js';
import { parseUuid } from '../../uuid.js';
import { DEFAULT_VERSION } from '../../versions/supported.js';

/** The media type of a report. Its profile distinguishes it from the record of another creation, also in generated clients. */
export const REPORT_TYPE = 'application/json; profile=report';

export const CREATION = 'creation';

/** A job that creates records. One of another kind, which another version of the service has stored, has the kind and the collection alone. */
export interface Task {
  readonly kind: string;
  readonly collection: string;
  /** The media type of the body. */
  readonly type: string;
  readonly isLenient: boolean;
  /** The permission of the request. Claims of a token are no part of it. */
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly scheme: Principal['scheme'];
  readonly permission: Permission;
  /** The collection with the user whose job it is: it ends with that record. Absent: there is none. */
  readonly userCollection?: string | undefined;
}

/** The request for a job, as far as it matters to the records. */
export const requestOf = (
  id: string,
  { collection, type, permission, subject, scheme, scopes }: Task,
): Request => ({
  ...{ id, method: 'POST', path: `/${collection}`, params: {}, query: NO_QUERY, headers: {}, prefix: '' },
  ...{ type, permission, version: DEFAULT_VERSION, run: undefined, body: undefined },
  principal: { subject, scheme, scopes: new Set(scopes), expiresAt: undefined },
});

/** The collection with the user that the subject of a request is; no member: it is none. */
export async function userOf(
  collections: readonly ScopedCollection[],
  { subject }: Principal,
): Promise<Pick<Task, 'userCollection'>> {
  const id = parseUuid(subject);
  if (id === undefined) return {};
  for (const { resource, whole } of collections)
    if (resource.owner && (await whole.exists(id))) return { userCollection: resource.name };
  return {};
}

/**
 * Throws 400 if rules name claims, which a job does not have. The rules of the collection, and of those to which its records refer,
 * decide about the records that a job creates.
 */
export function requireNoClaims({ resource }: ScopedCollection, all: readonly ScopedCollection[]): void {
  const names = [resource.name, ...resource.references.map(({ to }) => to)];
  for (const { resource } of all)
    if (names.includes(resource.name) && JSON.stringify(resource.grants).includes('"$claims.'))
      throw badRequest(`Access rules of ${resource.name} name claims of a token. A job has none.`);
}
