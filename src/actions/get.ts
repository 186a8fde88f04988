import type { NotFoundReason, StoredRecord } from '../collection/record.js';
import { recordReply, viewReply } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import type { Problem } from '../errors/problem.js';
import { absent, gone, notFoundCode } from '../errors/record-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import { readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isWhole, readView } from '../list/read-fields-and-includes.js';
import { readable, type ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { type Shown, shownDocument, shownOf } from './included-records.js';

/** Shows a record as JSON, HTML or CSV: 200, 304, 400, 404, 406, 410, 412. A query can include records of `related`. */
export function get(scoped: ScopedCollection, related: readonly ScopedCollection[]): Action {
  const { resource } = scoped;
  return {
    run: (request) => {
      const { params, query, type, run } = request;
      const view =
        query.text === '' ? undefined : readView(query.parameters, resource, readable(related, request));
      const shown = view && !isWhole(view) ? shownOf(related, view, request) : undefined;
      const id = parseUuid(params.id ?? '');
      if (id === undefined) throw notFoundProblem(resource, 'absent', type);
      // Not an async function: `then` is faster here, on the most frequent request.
      return scoped
        .as(request)
        .get(id, run)
        .then((found) => {
          if (typeof found === 'string') throw notFoundProblem(resource, found, type);
          return shown ? viewed(resource, found, shown, request) : whole(found, request);
        });
    },
  };

  function whole(found: StoredRecord, { type, prefix, headers }: Request): Reply | Promise<Reply> {
    // Callers may read different parts of one version.
    const reply = found.hidden ? viewReply : recordReply;
    return reply(resource, found, type, prefix, readConditions(headers));
  }
}

/** Shows the part of a record that a view has. */
async function viewed(
  resource: Resource,
  found: StoredRecord,
  shown: Shown,
  { type, prefix, headers, run }: Request,
): Promise<Reply> {
  const doc = await shownDocument(found.doc, shown, run);
  return viewReply(resource, { ...found, doc }, type, prefix, readConditions(headers));
}

/** The 404 or 410 for a missing record. A 404 for HTML or CSV has no body. */
export function notFoundProblem(
  { singular, absent: shape }: Pick<Resource, 'singular' | 'absent'>,
  reason: NotFoundReason,
  type: string,
): Problem {
  if (reason === 'gone') return gone(singular);
  const code = shape === 'simple' ? notFoundCode(singular) : 'NOT_FOUND';
  return absent(singular, type === JSON_TYPE ? shape : 'empty', code);
}
