import { setTimeout } from 'node:timers/promises';
import type { Guarded } from '../access/guarded-collection.js';
import { createKeyedMutex } from '../collection/keyed-mutex.js';
import { nextAttempt } from '../collection/next-attempt.js';
import { type HiddenPart, isStored, type StoredRecord } from '../collection/record.js';
import { withLinks } from '../collection/representation.js';
import { retainsFields } from '../collection/resource.js';
import type { WritePreconditions } from '../collection/write-preconditions.js';
import { invalid } from '../errors/input-errors.js';
import { jsonPatch } from '../formats/json-patch.js';
import { assign, mergePatch } from '../formats/merge-patch.js';
import { JSON_PATCH, JSON_TYPE, MERGE_PATCH } from '../http/media-types.js';
import type { Reply } from '../http/reply.js';
import type { Body, Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { requireRecordBounds } from '../http/strict-json.js';
import { isObject, type Json, type JsonObject, setMember } from '../json.js';
import { ParseLimit } from '../limits/parse-limit.js';
import { inTurns, LONG_TASK_BYTES, ofDocument, turn } from '../limits/turn.js';
import type { Collection } from '../list/open-collection.js';
import { parseUuid } from '../uuid.js';
import { OWNED, writeOnlyNames } from '../validation/validation.js';
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

/** The media types of a patch. */
export const PATCH_TYPES = [MERGE_PATCH, JSON_PATCH, JSON_TYPE];

/** Limits the records that patches of this process hold as values. */
const recordParseLimit = new ParseLimit();

/** Attempts to apply a patch while other processes change the record. */
const MAX_ATTEMPTS = 24;
/** Attempts without a pause before the next one. */
const IMMEDIATE_ATTEMPTS = 3;

/**
 * Changes a record in part: 200, 204, 400, 403, 404, 409, 410, 412, 413, 415, 422, 428. Reads the record, applies the patch,
 * and writes the result if the record is still the same; otherwise it starts again. Patches of one record run one after
 * the other in this process, so that only other processes can interfere.
 */
export function patch(guarded: Guarded, settings: WriteSettings, checkReferences: CheckReferences): Action {
  const { resource } = guarded;
  const mutex = createKeyedMutex();
  return {
    prepare: (request) =>
      passwordPreparation(guarded, request, undefined, (change) =>
        confirmInAdvance(guarded, request, change, settings),
      ),
    run: (request) => {
      const preconditions = readWritePreconditions(guarded, request, settings);
      const collection = guarded.as(request);
      const body = requirePatch(request.body);
      const id = parseUuid(request.params.id ?? '');
      if (id === undefined) throw missingForWrite(resource, 'absent');
      const patching = new Patching(collection, settings, checkReferences, request, id, body, preconditions);
      // A transaction does not wait: those before it may be waiting for its connection or its locks.
      return request.run ? patching.run() : mutex(id, () => patching.run());
    },
  };
}

/** The application of one patch to one record. */
class Patching {
  constructor(
    readonly collection: Collection,
    readonly settings: WriteSettings,
    readonly checkReferences: CheckReferences,
    readonly request: Request,
    readonly id: string,
    readonly body: Body,
    readonly preconditions: WritePreconditions,
  ) {}

  async run(): Promise<Reply> {
    for (let attempt = 0; ; attempt = nextAttempt(attempt, MAX_ATTEMPTS)) {
      // A random pause, so that the same two processes do not collide again.
      if (attempt >= IMMEDIATE_ATTEMPTS) await setTimeout(Math.random() * 2 * attempt);
      const stored = await this.#attempt();
      if (stored) return writtenReply(this.collection.resource, stored, this.request);
    }
  }

  /** Undefined: the record has changed meanwhile. */
  async #attempt(): Promise<StoredRecord | undefined> {
    const { collection, request } = this;
    const current = await collection.get(this.id, request.run);
    if (typeof current === 'string') throw missingForWrite(collection.resource, current);
    if (request.run) {
      // Many records may be changed at once.
      const turned = turn();
      if (turned) await turned;
      return this.#write(current);
    }
    const bytes = current.doc.length;
    const admitted = recordParseLimit.enter(bytes);
    if (admitted) await admitted;
    try {
      return await this.#write(current);
    } finally {
      recordParseLimit.leave(bytes);
    }
  }

  async #write(current: StoredRecord): Promise<StoredRecord | undefined> {
    const { collection, request, body, preconditions } = this;
    const { resource } = collection;
    await requireChangePreconditions(collection, { current }, preconditions, undefined, request);
    const record = this.#parse(current);
    // Patches change the record itself.
    const before = retainsFields(resource) ? this.#parse(current) : record;
    const present = { record: before, isPatch: true, hidden: current.hidden };
    const next = await patched(record, body);
    if (current.hidden && body.type === MERGE_PATCH) nameRemoved(next, body.value, current.hidden);
    await requireChangePreconditions(collection, { current }, preconditions, expectedVersion(next), request);
    if (!isShort(current, body, this.settings))
      requireRecordBounds(withoutOwned(next), this.settings.bodyLimit);
    const input = withPasswordHash(validatePermitted(collection, next, request, present), request);
    const confirmed = confirmSignInChange(collection, request, signInChangeOf(input), this.settings);
    const confirmedBy = confirmed && (await confirmed);
    const checked = this.checkReferences(input, request, () =>
      ofDocument(current.doc, (each) => ({ ...each, ...current.hidden?.values() })),
    );
    if (checked) await checked;
    const outcome = await collection.replace(
      current.id,
      confirmedBy === undefined ? input : { ...input, confirmedBy },
      narrowToVersion(preconditions, current.version),
      request.run,
    );
    return isStored(outcome) ? outcome : undefined;
  }

  /** The record as the patch sees it: for a JSON Patch as GET shows it, including `_links`. */
  #parse(current: StoredRecord): JsonObject {
    const { resource } = this.collection;
    const text =
      this.body.type === JSON_PATCH ? withLinks(resource, current, this.request.prefix) : current.doc;
    const record = JSON.parse(text) as JsonObject;
    // A value of a write-only field must come from the request, not from a document of an older version.
    for (const name of writeOnlyNames(resource.schema)) if (Object.hasOwn(record, name)) delete record[name];
    return record;
  }
}

function requirePatch(body: Body | undefined): Body {
  const isPatch = body?.type === JSON_PATCH;
  const isValid = body !== undefined && (isPatch ? Array.isArray(body.value) : isObject(body.value));
  if (isValid) return body;
  const message = isPatch ? 'must be an array of operations' : 'must be an object';
  throw invalid([{ path: '', message, keyword: 'type' }]);
}

/** The record after the patch. */
function patched(record: JsonObject, { type, value }: Body): Json | Promise<Json> {
  if (type === JSON_PATCH) return inTurns(jsonPatch(record, value));
  return type === MERGE_PATCH ? mergePatch(record, value) : assign(record, value as JsonObject);
}

/** Adds null for the fields that a merge patch removes although the caller may not read them: they are not in the record. */
function nameRemoved(next: Json, patch: Json | undefined, { readable }: HiddenPart): void {
  if (!isObject(next) || !isObject(patch)) return;
  for (const [name, value] of Object.entries(patch))
    if (value === null && !readable.has(name)) setMember(next, name, null);
}

/** Bytes of a character of UTF-16 in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

/**
 * Whether a record is within the bounds of bodies after a patch, since record and patch are together. A JSON Patch can repeat parts of
 * the record, and the bytes of a patch in another request are unknown.
 */
function isShort({ doc }: StoredRecord, { type, bytes }: Body, { bodyLimit }: WriteSettings): boolean {
  const most = MAX_CHARACTER_BYTES * doc.length + bytes.length;
  return type !== JSON_PATCH && bytes.length > 0 && most <= Math.min(LONG_TASK_BYTES, bodyLimit);
}

/** The fields of the client: a record that is as large as a body may be can be patched. */
function withoutOwned(record: Json): Json {
  if (!isObject(record)) return record;
  const own = { ...record };
  for (const name of OWNED) delete own[name];
  return own;
}
