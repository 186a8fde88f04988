import type { Guarded } from '../access/guarded-collection.js';
import { nextAttempt } from '../collection/next-attempt.js';
import { isStored, type PreconditionFailed } from '../collection/record.js';
import { retainsFields } from '../collection/resource.js';
import type { BeforeWrite } from '../collection/validated-input.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type JsonObject } from '../json.js';
import { ofDocument } from '../limits/turn.js';
import type { Collection } from '../list/open-collection.js';
import { parseUuid } from '../uuid.js';
import {
  confirmInAdvance,
  confirmSignInChange,
  expectedVersion,
  narrowToVersion,
  readWritePreconditions,
  requireChangePreconditions,
  signInChangeOf,
  type WriteSettings,
  writtenReply,
} from './conditional-write.js';
import { missingForWrite } from './not-found.js';
import { validatePermitted } from './owner-check.js';
import { passwordPreparation, withPasswordHash } from './password-preparation.js';
import type { CheckReferences } from './permitted-references.js';

/** Replaces a record; missing fields are cleared: 200, 204, 400, 403, 404, 409, 410, 412, 413, 415, 422, 428. */
export function replace(guarded: Guarded, settings: WriteSettings, checkReferences: CheckReferences): Action {
  const { resource } = guarded;
  return {
    prepare: (request) =>
      passwordPreparation(
        guarded,
        request,
        // The fields that the caller may not read remain, and are not known yet.
        guarded.ruled
          ? undefined
          : () => guarded.whole.check(request.body?.value, 'request', asItself(request)),
        (change) => confirmInAdvance(guarded, request, change, settings),
      ),
    run: async (request) => {
      const collection = guarded.as(request);
      const preconditions = readWritePreconditions(collection, request, settings);
      const id = parseUuid(request.params.id ?? '');
      const expected = expectedVersion(request.body?.value);
      const draftOf = (present?: BeforeWrite) =>
        withPasswordHash(validatePermitted(collection, request.body?.value, request, present), request);
      // Fields that the caller may not set, or not even read, remain.
      const isRead = retainsFields(resource) || collection.access !== undefined;
      const readDraft = async () => {
        const current = isRead ? await currentOf(collection, id, request) : undefined;
        // A body is not compared with a record that is not there for the caller.
        if (!current && collection.access) throw missingForWrite(resource, 'absent');
        // A client with an outdated record may send values that others have changed: the preconditions come first.
        if (current) await requireChangePreconditions(collection, current, preconditions, expected, request);
        return { current, draft: draftOf(isRead && !current ? asItself(request) : current?.present) };
      };
      let { current, draft } = await readDraft();
      if (id === undefined) throw missingForWrite(resource, 'absent');
      const confirmed = confirmSignInChange(collection, request, signInChangeOf(draft), settings);
      const confirmedBy = confirmed && (await confirmed);
      const before = async () => wholeOf((current ?? (await currentOf(collection, id, request)))?.present);
      const checked = checkReferences(draft, request, before);
      if (checked) await checked;
      for (let attempt = 0; ; attempt = nextAttempt(attempt)) {
        const outcome = await collection.replace(
          id,
          confirmedBy === undefined ? draft : { ...draft, confirmedBy },
          narrowToVersion(preconditions, expected ?? current?.current.version),
          request.run,
        );
        if (isStored(outcome)) return writtenReply(resource, outcome, request);
        if (typeof outcome === 'string') throw missingForWrite(resource, outcome);
        await requireChangePreconditions(collection, outcome, preconditions, expected, request);
        if (!current) continue;
        ({ current, draft } = await readDraft());
      }
    },
  };
}

/** A record with the fields that the caller may not read. */
const wholeOf = (present: BeforeWrite | undefined): JsonObject | undefined =>
  present && { ...present.record, ...present.hidden?.values() };

/** The present record, whose read-only fields remain. The write then applies to this version alone. */
async function currentOf(
  collection: Collection,
  id: string | undefined,
  { run }: Request,
): Promise<(PreconditionFailed & { present: BeforeWrite }) | undefined> {
  const found = id === undefined ? 'absent' : await collection.get(id, run);
  if (typeof found === 'string') return undefined;
  return ofDocument(found.doc, (record) => ({
    present: { record, isPatch: false, hidden: found.hidden },
    current: found,
  }));
}

/** A body as the record that it replaces: without the record, no value of the body is known to change one. */
function asItself({ body }: Request): BeforeWrite {
  return { record: isObject(body?.value) ? body.value : {}, isPatch: false };
}
