import { createHash, hash } from 'node:crypto';
import type { Guarded } from '../access/guarded-collection.js';
import { IDEMPOTENCY_SQL } from '../db/core-statements.js';
import type { Db, Run } from '../db/db.js';
import { keyInUse, keyReused } from '../errors/record-errors.js';
import { badRequest } from '../errors/request-errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { DEFAULT_VERSION } from '../versions/supported.js';
import { columnsOf, replyOf } from './reply-columns.js';

const { lock: LOCK, find: FIND, keep: STORE } = IDEMPOTENCY_SQL;

/**
 * An action whose repeats under one Idempotency-Key get the first response again
 * (draft-ietf-httpapi-idempotency-key-header-07), if the caller may still send the request. The response is stored in
 * the transaction of its writes, so there is one if and only if the other is. Throws 400 for a malformed key, 422 for
 * a key of a different request, 409 while the first is in flight. Only successful responses are stored, for
 * `ttlSeconds`.
 */
export function withIdempotency(
  db: Db,
  ttlSeconds: number,
  collections: readonly Guarded[],
  action: Action,
): Action {
  const find = async (run: Run, identity: Identity): Promise<Reply | undefined> => {
    const { caller, key, fingerprint, request } = identity;
    const [row] = await run(FIND, [caller, key, ttlSeconds]);
    if (!row) return undefined;
    if (row.fingerprint !== fingerprint) throw keyReused();
    const reply = await replyOf(row, collections, run, request);
    return { ...reply, headers: [...reply.headers, 'Idempotency-Replayed', 'true'] };
  };

  const once = async (run: Run, identity: Identity, request: Request): Promise<Reply> => {
    const { caller, key, fingerprint } = identity;
    const [lock] = await run(LOCK, [`${caller}\n${key}`]);
    if (lock?.locked !== true) throw keyInUse();
    const found = await find(run, identity);
    if (found) return found;
    const reply = await action.run({ ...request, run });
    await run(STORE, [caller, key, fingerprint, ...columnsOf(reply, collections)]);
    return reply;
  };

  const keyed = async (request: Request, key: string): Promise<Reply> => {
    const identity = identityOf(request, key);
    await action.authorize?.(request);
    const prepare = action.prepare?.(request);
    // A repeated request prepares nothing.
    const found = prepare && (await find(db.run, identity));
    if (found) return found;
    const prepared = prepare ? await prepare() : request;
    return db.transaction((run) => once(run, identity, prepared));
  };

  return {
    ...action,
    run: (request) => {
      const field = request.headers['idempotency-key'];
      // A key applies to a whole batch, not to its operations.
      if (field === undefined || request.run) return action.run(request);
      return keyed(request, readKey(String(field)));
    },
  };
}

/** The request to which a stored response belongs. */
interface Identity {
  readonly caller: string;
  readonly key: string;
  readonly fingerprint: string;
  /** The caller, and what precedes the paths of links in the response. */
  readonly request: Pick<Request, 'principal' | 'prefix'>;
}

function identityOf(request: Request, key: string): Identity {
  return { caller: callerKey(request.principal.subject), key, fingerprint: fingerprintOf(request), request };
}

/** A quoted string (RFC 8941 section 3.3.3) or a bare one, 1 to 255 visible characters. */
function readKey(field: string): string {
  const [, quoted, bare] =
    /^(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"|([\x21\x23-\x7e]{1,255}))$/.exec(field) ?? [];
  const key = quoted?.replace(/\\(.)/g, '$1') ?? bare;
  if (key === undefined) throw badRequest('Idempotency-Key must be a string of 1 to 255 characters.');
  return key;
}

/** Identifies a request by its method, address, version, media type, preference and body. */
function fingerprintOf({ method, path, version, query, headers, body }: Request): string {
  const hash = createHash('sha256');
  for (const part of [
    method,
    version === DEFAULT_VERSION ? path : version.mount + path,
    query,
    body?.type ?? '',
    String(headers.prefer ?? ''),
    String(headers['if-match'] ?? ''),
    ...(method === 'PUT' ? [String(headers['if-none-match'] ?? '')] : []),
  ]) {
    hash.update(part).update('\n');
  }
  return hash.update(body?.bytes ?? '').digest('base64url');
}

/** Subjects of plain characters up to this length are stored unchanged. */
const PLAIN = /^[\x20-\x7e]{1,64}$/;

/**
 * The name of a subject in the database: at most 71 storable characters. A hash is longer than any unchanged subject, so
 * they cannot be confused.
 */
function callerKey(subject: string): string {
  return PLAIN.test(subject) ? subject : `sha256:${hash('sha256', JSON.stringify(subject), 'hex')}`;
}
