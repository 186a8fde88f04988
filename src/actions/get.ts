import type { Collection } from '../collection/collection.js';
import { JSON_TYPE, RECORD_TYPES, recordReply } from '../collection/representation.js';
import { readConditions } from '../http/preconditions.js';
import type { Action } from '../http/router.js';
import { LONG_TASK_BYTES, nextLongTask } from '../limits/long-task.js';
import { parseUuid } from '../uuid.js';
import { notFoundProblem } from './not-found.js';

/** Shows a record as JSON, HTML or CSV: 200, 304, 404, 406, 410, 412. */
export function get(collection: Collection): Action {
  const { resource } = collection;
  return {
    offers: RECORD_TYPES,
    run: ({ params, type, headers, prefix, run }) => {
      const id = parseUuid(params.id ?? '');
      if (id === undefined) throw notFoundProblem(resource, 'absent', type);
      // Not an async function: `then` is faster here, on the most frequent request.
      return collection.get(id, run).then((found) => {
        if (typeof found === 'string') throw notFoundProblem(resource, found, type);
        if (type !== JSON_TYPE && found.doc.length > LONG_TASK_BYTES)
          return nextLongTask().then(() =>
            recordReply(resource, found, type, prefix, readConditions(headers)),
          );
        return recordReply(resource, found, type, prefix, readConditions(headers));
      });
    },
  };
}
