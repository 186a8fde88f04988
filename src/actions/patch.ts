import type { Collection, Stored } from '../collection.js';
import { absent, invalid, payloadTooLarge, unavailable, versionConflict } from '../errors.js';
import { jsonPatch } from '../formats/json-patch.js';
import { assign, mergePatch } from '../formats/merge-patch.js';
import { requireStorable } from '../http/json.js';
import { JSON_TYPE, withLinks } from '../http/representation.js';
import type { Body } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import type { Resource } from '../resource.js';
import { parseUuid } from '../uuid.js';
import { expectedVersion, writtenReply } from './replace.js';

const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

/** Times that a patch is worked out again because somebody else wrote in between. */
const ATTEMPTS = 16;

/**
 * A record changed in part: 200, 204, 400, 404, 409, 413, 415, 422. The new state is worked out from the one
 * read and written only if that is still the current one; else it is worked out again.
 */
export function patch(collection: Collection, limit: number): Action {
  const { resource } = collection;
  return {
    takes: [MERGE_PATCH, JSON_PATCH, JSON_TYPE],
    run: async (request) => {
      const body = requireObjectOrArray(request.body);
      const id = parseUuid(request.params.id ?? '');
      for (let attempt = 0; id !== undefined && attempt < ATTEMPTS; attempt++) {
        const current = await collection.get(id);
        if (!current) break;
        const next = changed(resource, current, body);
        const expected = expectedVersion(next);
        if (expected !== undefined && expected !== current.version) throw versionConflict(current.version);
        if (JSON.stringify(next).length > limit) throw payloadTooLarge(limit);
        const written = await collection.replace(id, collection.check(next), current.version);
        if (typeof written === 'object') return writtenReply(resource, written, request);
        if (attempt === ATTEMPTS - 1) throw unavailable('The record is being changed by too many at once.');
      }
      throw absent(resource.singular, resource.absent);
    },
  };
}

function requireObjectOrArray(body: Body | undefined): Body {
  const wanted = body?.type === JSON_PATCH ? 'an array of operations' : 'an object';
  const fits =
    body !== undefined && (body.type === JSON_PATCH ? Array.isArray(body.value) : isObject(body.value));
  if (!fits) throw invalid([{ path: '', message: `must be ${wanted}`, keyword: 'type' }]);
  return body;
}

/** The record as the client would have it; a JSON Patch sees what GET shows, `_links` included. */
function changed(resource: Resource, current: Stored, { type, value }: Body): Json {
  if (type === JSON_PATCH) {
    const result = jsonPatch(JSON.parse(withLinks(resource, current)) as Json, value);
    requireStorable(result, '', 1);
    return result;
  }
  const record = JSON.parse(current.doc) as JsonObject;
  return type === MERGE_PATCH ? mergePatch(record, value) : assign(record, value as JsonObject);
}
