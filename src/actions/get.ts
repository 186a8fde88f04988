import type { Collection } from '../collection.js';
import { absent } from '../errors.js';
import { JSON_TYPE, RECORD_TYPES, recordReply } from '../http/representation.js';
import type { Action } from '../http/router.js';
import { parseUuid } from '../uuid.js';

/** One record as JSON, HTML or CSV: 200, 404, 406. */
export function get(collection: Collection): Action {
  const { resource } = collection;
  return {
    offers: RECORD_TYPES,
    run: async ({ params, type }) => {
      const id = parseUuid(params.id ?? '');
      const stored = id === undefined ? undefined : await collection.get(id);
      if (!stored) throw absent(resource.singular, type === JSON_TYPE ? resource.absent : 'empty');
      return recordReply(resource, stored, type);
    },
  };
}
