import type { Collection, Draft, Stored } from '../collection.js';
import { absent, versionConflict } from '../errors.js';
import { prefersMinimal } from '../http/prefer.js';
import type { Reply } from '../http/reply.js';
import { etagOf, JSON_TYPE, recordReply } from '../http/representation.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type Json, member } from '../json.js';
import type { Resource } from '../resource.js';
import { parseUuid } from '../uuid.js';

/** A record replaced whole, fields that are left out are cleared: 200, 204, 400, 404, 409, 413, 415, 422. */
export function replace(collection: Collection): Action {
  const { resource } = collection;
  return {
    takes: [JSON_TYPE],
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      const draft: Draft = collection.check(request.body?.value);
      if (id === undefined) throw absent(resource.singular, resource.absent);
      const expected = expectedVersion(request.body?.value);
      // A version that no integer column can hold is never the current one; null would mean "any".
      const written = await collection.replace(id, draft, expected === undefined ? null : (expected ?? -1));
      if (written === undefined) throw absent(resource.singular, resource.absent);
      if (typeof written === 'number') throw versionConflict(written);
      return writtenReply(resource, written, request);
    },
  };
}

/** The `_version` in a body: undefined when there is none, null when it is nothing that a version can be. */
export function expectedVersion(value: Json | undefined): number | null | undefined {
  const version = isObject(value) ? member(value, '_version') : undefined;
  if (version === undefined) return undefined;
  return typeof version === 'number' && Number.isInteger(version) && version > 0 && version < 2 ** 31
    ? version
    : null;
}

/** 200 with the record, or 204 for a client that prefers none (RFC 7240 section 4.2). */
export function writtenReply(resource: Resource, stored: Stored, request: Request): Reply {
  if (!prefersMinimal(request.headers.prefer)) return recordReply(resource, stored, JSON_TYPE);
  return { status: 204, headers: ['Preference-Applied', 'return=minimal', 'ETag', etagOf(stored)] };
}
