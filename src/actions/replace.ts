import { retainsFields } from '../collection/resource.js';
import type { BeforeWrite } from '../collection/validated-input.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject } from '../json.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import {
  changeRecord,
  confirmInAdvance,
  expectedVersion,
  readWritePreconditions,
  type WriteSettings,
} from './change-record.js';
import { passwordPreparation } from './password-preparation.js';

/** Replaces a record; missing fields are cleared: 200, 204, 400, 403, 404, 409, 410, 412, 413, 415, 422, 428. */
export function replace(scoped: ScopedCollection, settings: WriteSettings): Action {
  return {
    prepare: passwordPreparation(
      scoped,
      // The fields that the caller may not read remain, and are not known yet.
      scoped.resource.hasRules
        ? undefined
        : (request) => scoped.whole.check(request.body?.value, 'request', asItself(request)),
      confirmInAdvance(scoped, settings),
    ),
    run: async (request) => {
      const body = request.body?.value;
      // Fields that the caller may not set, or not even read, remain.
      const isRead = retainsFields(scoped.resource) || scoped.as(request).access !== undefined;
      return changeRecord(scoped, request, {
        settings,
        preconditions: readWritePreconditions(scoped, request, settings),
        isRead,
        expected: expectedVersion(body),
        draft: (present) => {
          const before = present && { record: present.record, isPatch: false, hidden: present.stored.hidden };
          return { body, before: before ?? (isRead ? asItself(request) : undefined) };
        },
      });
    },
  };
}

/** A body as the record that it replaces: without the record, no value of the body is known to change one. */
function asItself({ body }: Request): BeforeWrite {
  return { record: isObject(body?.value) ? body.value : {}, isPatch: false };
}
