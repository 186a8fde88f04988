import type { Collection } from '../collection.js';
import type { Action } from '../http/router.js';
import { parseUuid } from '../uuid.js';

/** A record deleted, whether it existed or not: 204. */
export function remove(collection: Collection): Action {
  return {
    run: async ({ params }) => {
      const id = parseUuid(params.id ?? '');
      if (id !== undefined) await collection.remove(id);
      return { status: 204, headers: [] };
    },
  };
}
