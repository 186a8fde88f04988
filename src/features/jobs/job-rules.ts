import type { Guarded } from '../../access/guarded-collection.js';
import { badRequest, notFound } from '../../errors/request-errors.js';

export const collectionGone = (name: string) =>
  notFound.variant({ message: `There is no collection ${name} any more.` });

/**
 * Throws 400 if rules name claims, which a job does not have. The rules of the collection, and of those to which its records refer,
 * decide about the records that a job creates.
 */
export function requireNoClaims({ resource }: Guarded, all: readonly Guarded[]): void {
  const names = [resource.name, ...resource.references.map(({ to }) => to)];
  for (const { resource } of all)
    if (names.includes(resource.name) && JSON.stringify(resource.grants).includes('"$claims.'))
      throw badRequest(`Access rules of ${resource.name} name claims of a token. A job has none.`);
}
