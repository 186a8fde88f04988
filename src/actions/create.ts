import { callerOf } from '../auth/principal.js';
import type { StoredRecord } from '../collection/record.js';
import { hrefOf, validatorFields, withLinks } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { Problem } from '../errors/problem.js';
import { noSuchParent } from '../errors/record-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import { type Reply, withoutField } from '../http/reply.js';
import { prefersMinimal, type Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, setMember } from '../json.js';
import type { Collection } from '../list/open-collection.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { parseUuid } from '../uuid.js';
import { passwordPreparation, withPasswordHash } from './password-preparation.js';

/** Creates a record: 201 with Location, 400, 403, 409, 413, 415, 422. */
export function create(scoped: ScopedCollection): Action {
  const { resource } = scoped;
  return {
    prepare: passwordPreparation(scoped, (request) => checkNew(scoped.as(request), request)),
    run: async (request) => {
      const collection = scoped.as(request);
      const stored = await collection.create(checkNew(collection, request), request.run);
      return createdReply(resource, stored, request);
    },
  };
}

/** Validates the body of a creation. Throws as `check`. */
export function checkNew({ check, resource }: Collection, request: Request): ValidatedInput {
  const input = check(request.body?.value, 'request', undefined, callerOf(request.principal));
  return resource.hasPasswords ? withPasswordHash(input, request) : input;
}

/** 201 with the record, or without it with `Prefer: return=minimal`. */
export function createdReply(resource: Resource, stored: StoredRecord, request: Request): Reply {
  const shown = prefersMinimal(request.headers.prefer)
    ? minimal
    : {
        body: withLinks(resource, stored, request.prefix),
        headers: ['Content-Type', JSON_TYPE],
        record: stored,
        collection: resource.name,
      };
  const location = ['Location', hrefOf(resource, stored.id, request.prefix)];
  return {
    ...shown,
    status: 201,
    headers: [...shown.headers, ...location, ...validatorFields(stored)],
  };
}

const minimal: Omit<Reply, 'status'> = { headers: ['Preference-Applied', 'return=minimal'] };

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
