import type { Present } from '../collection/changes.js';
import type { HiddenPart } from '../collection/record.js';
import { linksOf } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { invalid } from '../errors/input-errors.js';
import { jsonPatch } from '../formats/json-patch.js';
import { assign, mergePatch } from '../formats/merge-patch.js';
import { JSON_PATCH, JSON_TYPE, MERGE_PATCH } from '../http/media-types.js';
import type { Body, Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { requireRecordBounds } from '../http/strict-json.js';
import { isObject, type Json, type JsonObject, setMember } from '../json.js';
import { inTurns } from '../limits/turn.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { OWNED, writeOnlyNames } from '../validation/validation.js';
import {
  changeRecord,
  confirmInAdvance,
  expectedVersion,
  preconditionProblem,
  readWritePreconditions,
  type WriteSettings,
} from './change-record.js';
import { passwordPreparation } from './password-preparation.js';

/** The media types of a patch. */
export const PATCH_TYPES = [MERGE_PATCH, JSON_PATCH, JSON_TYPE];

/** Changes a record in part: 200, 204, 400, 403, 404, 409, 410, 412, 413, 415, 422, 428. */
export function patch(scoped: ScopedCollection, settings: WriteSettings): Action {
  const { resource } = scoped;
  return {
    prepare: passwordPreparation(scoped, undefined, confirmInAdvance(scoped, settings)),
    run: async (request) => {
      const preconditions = readWritePreconditions(scoped, request, settings);
      const body = requirePatch(request.body);
      return changeRecord(scoped, request, {
        settings,
        preconditions,
        isRead: true,
        draft: async (given) => {
          const { stored } = given!;
          const { hidden } = stored;
          // A value of a write-only field must come from the request, not from a document of an older version.
          const record = without(given!.record, writeOnlyNames(resource.schema));
          const next = await patched({ stored, record }, body, resource, request);
          if (hidden && body.type === MERGE_PATCH) nameRemoved(next, body.value, hidden);
          const expected = expectedVersion(next);
          if (expected !== undefined && expected !== stored.version)
            throw await preconditionProblem(resource, stored, preconditions, request);
          // The fields of the client: a record that is as large as a body may be can be patched.
          requireRecordBounds(isObject(next) ? without(next, OWNED) : next, settings.bodyLimit);
          return { body: next, before: { record, isPatch: true, hidden } };
        },
      });
    },
  };
}

function requirePatch(body: Body | undefined): Body {
  const isPatch = body?.type === JSON_PATCH;
  const isValid = body !== undefined && (isPatch ? Array.isArray(body.value) : isObject(body.value));
  if (isValid) return body;
  const message = isPatch ? 'must be an array of operations' : 'must be an object';
  throw invalid([{ path: '', message, keyword: 'type' }]);
}

/** The record after the patch. A JSON Patch sees it as GET shows it, including `_links`. */
function patched(
  { stored, record }: Present,
  { type, value }: Body,
  resource: Resource,
  { prefix }: Request,
): Json | Promise<Json> {
  if (type === MERGE_PATCH) return mergePatch(record, value);
  if (type === JSON_TYPE) return assign(record, value as JsonObject);
  return inTurns(jsonPatch({ ...record, _links: linksOf(resource, stored, prefix) }, value));
}

/** Adds null for the fields that a merge patch removes although the caller may not read them: they are not in the record. */
function nameRemoved(next: Json, patch: Json | undefined, { readable }: HiddenPart): void {
  if (!isObject(next) || !isObject(patch)) return;
  for (const [name, value] of Object.entries(patch))
    if (value === null && !readable.has(name)) setMember(next, name, null);
}

function without(record: JsonObject, names: Iterable<unknown>): JsonObject {
  const rest = { ...record };
  for (const name of names) delete rest[name as string];
  return rest;
}
