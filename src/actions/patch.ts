import { setTimeout } from 'node:timers/promises';
import type { Collection } from '../collection.js';
import { invalid, payloadTooLarge, unavailable } from '../errors.js';
import { jsonPatch } from '../formats/json-patch.js';
import { assign, mergePatch } from '../formats/merge-patch.js';
import { requireStorable } from '../http/json.js';
import type { Reply } from '../http/reply.js';
import { JSON_TYPE, withLinks } from '../http/representation.js';
import type { Body, Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { type Guard, isStored, type Stored } from '../record.js';
import type { Resource } from '../resource.js';
import { createTurns } from '../turns.js';
import { parseUuid } from '../uuid.js';
import { missing } from './missing.js';
import {
  expectedVersion,
  explainHeld,
  narrowed,
  readGuard,
  type WriteSettings,
  writtenReply,
} from './write.js';

const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

/** Times that a patch is worked out again because another process wrote in between. */
const ATTEMPTS = 24;

/**
 * A record changed in part: 200, 204, 400, 404, 409, 410, 412, 413, 415, 422, 428. The new state is worked out
 * from the one read and written only if that is still the current one; else it is worked out again. Patches of
 * one record take turns in this process, so that only other processes can come in between.
 */
export function patch(collection: Collection, settings: WriteSettings): Action {
  const { resource } = collection;
  const turns = createTurns();

  async function attempt(request: Request, id: string, body: Body, guard: Guard): Promise<Reply | undefined> {
    const current = await collection.get(id, request.run);
    if (typeof current === 'string') throw missing(resource, current);
    explainHeld(resource, { current }, guard, undefined);
    const next = changed(resource, current, body);
    explainHeld(resource, { current }, guard, expectedVersion(next));
    if (Buffer.byteLength(JSON.stringify(next)) > settings.bodyLimit)
      throw payloadTooLarge(settings.bodyLimit);
    const outcome = await collection.replace(
      id,
      collection.check(next),
      narrowed(guard, current.version),
      request.run,
    );
    return isStored(outcome) ? writtenReply(resource, outcome, request) : undefined;
  }

  async function untilWritten(request: Request, id: string, body: Body, guard: Guard): Promise<Reply> {
    for (let tries = 0; tries < ATTEMPTS; tries++) {
      const reply = await attempt(request, id, body, guard);
      if (reply) return reply;
      // Who loses waits a little, by chance, so that the same two do not meet again.
      if (tries > 2) await setTimeout(Math.random() * 2 * tries);
    }
    throw unavailable('The record is being changed by too many at once.');
  }

  return {
    takes: [MERGE_PATCH, JSON_PATCH, JSON_TYPE],
    run: (request) => {
      const guard = readGuard(collection, request, settings);
      const body = requireObjectOrArray(request.body);
      const id = parseUuid(request.params.id ?? '');
      if (id === undefined) throw missing(resource, 'absent');
      // A transaction does not wait for its turn: those before it may be waiting for its connection.
      if (request.run) return untilWritten(request, id, body, guard);
      return turns(id, () => untilWritten(request, id, body, guard));
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
