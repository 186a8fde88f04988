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
import { type Guard, isStored, onlyVersion, type Stored, UNGUARDED } from '../record.js';
import type { Resource } from '../resource.js';
import { createTurns } from '../turns.js';
import { parseUuid } from '../uuid.js';
import { missing } from './missing.js';
import { checkPermitted } from './own.js';
import { passwordPreparation, withPasswordHash } from './password-hash.js';
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
 * one record take turns in this process, so that only other processes can come in between. One that only assigns
 * fields, and would share no statement, is a statement that reads nothing first.
 */
export function patch(collection: Collection, settings: WriteSettings): Action {
  const { resource } = collection;
  const turns = createTurns();
  let underWay = 0;
  /** How many in a row have found no other under way. */
  let alone = 0;

  /** What one statement does by itself. Undefined when it takes the whole record to tell what becomes of it. */
  async function amended(request: Request, id: string, body: Body, guard: Guard): Promise<Reply | undefined> {
    const fields = fieldsOf(body);
    const version = onlyVersion(guard);
    if (!fields || (version === undefined && guard !== UNGUARDED)) return undefined;
    const amendment = { id, fields, version, mostBytes: settings.bodyLimit };
    const stored = await collection.amend(amendment, request.run);
    return stored && writtenReply(resource, stored, request);
  }

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
      withPasswordHash(checkPermitted(collection, next, request), request),
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

  /**
   * A transaction shares no statement, nor does who is alone, as the one before was: one instead of two is 1.27 x the rate.
   * The first of many that come together does, else it would be 0.94 x at 64 connections.
   */
  async function carryOut(request: Request, id: string, body: Body, guard: Guard): Promise<Reply> {
    alone = underWay === 0 ? alone + 1 : 0;
    underWay++;
    try {
      const reply = request.run || alone > 1 ? await amended(request, id, body, guard) : undefined;
      return reply ?? (await untilWritten(request, id, body, guard));
    } finally {
      underWay--;
    }
  }

  return {
    takes: [MERGE_PATCH, JSON_PATCH, JSON_TYPE],
    prepare: (request) => passwordPreparation(collection, request),
    run: (request) => {
      const guard = readGuard(collection, request, settings);
      const body = requireObjectOrArray(request.body);
      const id = parseUuid(request.params.id ?? '');
      if (id === undefined) throw missing(resource, 'absent');
      // A transaction does not wait for its turn: those before it may be waiting for its connection.
      if (request.run) return carryOut(request, id, body, guard);
      return turns(id, () => carryOut(request, id, body, guard));
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

/** The fields that a patch does nothing but assign; undefined when it does more. */
function fieldsOf({ type, value }: Body): JsonObject | undefined {
  if (type === JSON_PATCH || !isObject(value) || expectedVersion(value) !== undefined) return undefined;
  const isAssigned = (each: Json) => each !== null && !(type === MERGE_PATCH && isObject(each));
  return Object.values(value).every(isAssigned) ? value : undefined;
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
