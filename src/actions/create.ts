import type { StoredRecord } from '../collection/record.js';
import { hrefOf } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { Problem } from '../errors/problem.js';
import { noSuchParent } from '../errors/record-errors.js';
import { type Reply, withoutField } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, setMember } from '../json.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { checkedInput, writtenReply } from './change-record.js';
import { passwordPreparation } from './password-preparation.js';

/** Creates a record: 201 with Location, 400, 403, 409, 413, 415, 422. */
export function create(scoped: ScopedCollection): Action {
  const { resource } = scoped;
  return {
    prepare: passwordPreparation(scoped, (request) => checkedInput(scoped.as(request), request)),
    run: async (request) => {
      const collection = scoped.as(request);
      const stored = await collection.create(checkedInput(collection, request), request.run);
      return createdReply(resource, stored, request);
    },
  };
}

/** 201 with the record, or without it with `Prefer: return=minimal`. */
export const createdReply = (resource: Resource, stored: StoredRecord, request: Request): Reply =>
  writtenReply(201, resource, stored, request, ['Location', hrefOf(resource, stored.id, request.prefix)]);

/**
 * Creates a record of a parent, whose id in the path overrides the one in the body: 201, in version 1 without Location, as
 * specified; 404 for a missing parent.
 */
export function createNested(scoped: ScopedCollection): Action {
  const { run } = create(scoped);
  const parent = scoped.resource.parent!;
  return {
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      if (id === undefined) throw noSuchParent(parent.singular);
      const value = request.body?.value;
      if (isObject(value)) setMember(value, parent.field, id);
      try {
        const reply = await run(request);
        if (request.version.locatesNested) return reply;
        return { ...reply, headers: withoutField(reply.headers, 'Location') };
      } catch (error) {
        // The statement's foreign key found no parent, so no second query is needed.
        throw isAbout(error, parent.field) ? noSuchParent(parent.singular) : error;
      }
    },
  };
}

/** Whether a reference in this field names no record. */
function isAbout(error: unknown, field: string): boolean {
  if (!(error instanceof Problem) || error.status !== 422) return false;
  return (error.more.details as { path?: unknown } | undefined)?.path === `/${field}`;
}
