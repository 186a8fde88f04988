import { createHash } from 'node:crypto';
import { callerKey } from '../auth/principal.js';
import { IDEMPOTENCY_SQL } from '../db/core-statements.js';
import type { Db, Run } from '../db/db.js';
import { keyInUse, keyReused } from '../errors/record-errors.js';
import { badRequest } from '../errors/request-errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import { DEFAULT_VERSION } from '../versions/supported.js';
import { replyOf, rowOf } from './stored-reply.js';

/** The responses to requests with a key. */
export type Idempotency = ReturnType<typeof openIdempotency>;

/** Stores responses for `ttlSeconds`. */
export function openIdempotency(ttlSeconds: number, collections: readonly ScopedCollection[]) {
  /** The stored response to a request with the key of this one; undefined: there is none. Throws 422. */
  const find = async (run: Run, identity: Identity): Promise<Reply | undefined> => {
    const { caller, key, request } = identity;
    const [row] = await run(IDEMPOTENCY_SQL.find, [caller, key, ttlSeconds]);
    if (!row) return undefined;
    if (row.fingerprint !== (await identity.fingerprint())) throw keyReused();
    const reply = await replyOf(row, collections, run, request);
    return { ...reply, headers: [...reply.headers, 'Idempotency-Replayed', 'true'] };
  };
  /**
   * The stored response, or the one of `work`, which is stored in the transaction of `run`: there is one if and only if the writes
   * of `work` are. Throws 409 while another request with the key is in flight, and 422 for a key of a different request.
   */
  const once = async (run: Run, identity: Identity, work: () => Promise<Reply> | Reply): Promise<Reply> => {
    const { caller, key } = identity;
    const [lock] = await run(IDEMPOTENCY_SQL.lock, [`${caller}\n${key}`]);
    if (lock?.locked !== true) throw keyInUse();
    const found = await find(run, identity);
    if (found) return found;
    const reply = await work();
    await run(IDEMPOTENCY_SQL.keep, [
      caller,
      key,
      await identity.fingerprint(),
      ...rowOf(reply, collections),
    ]);
    return reply;
  };
  return { identityOf, find, once };
}

/**
 * An action whose repeats under one Idempotency-Key get the first response again
 * (draft-ietf-httpapi-idempotency-key-header-07), if the caller may still send the request. The response is stored in
 * the transaction of its writes, so there is one if and only if the other is. Throws 400 for a malformed key, 422 for
 * a key of a different request, 409 while the first is in flight. Only successful responses are stored.
 */
export function withIdempotency(db: Db, { find, once }: Idempotency, action: Action): Action {
  const keyed = async (request: Request, identity: Identity): Promise<Reply> => {
    // The operations of a batch are permitted before a response is found.
    const prepare = action.prepare?.(request);
    // A repeated request prepares nothing.
    const found = prepare && (await find(db.run, identity));
    if (found) return found;
    const prepared = prepare ? await prepare() : request;
    return db.transaction((run) => once(run, identity, () => action.run({ ...prepared, run })));
  };
  return {
    ...action,
    run: (request) => {
      if (request.headers['idempotency-key'] === undefined) return action.run(request);
      const identity = identityOf(request, () => request.body?.bytes ?? '');
      return identity ? keyed(request, identity) : action.run(request);
    },
  };
}

/** The request to which a stored response belongs. */
interface Identity {
  readonly caller: string;
  readonly key: string;
  /** Identifies the content of the request. */
  readonly fingerprint: () => Promise<string>;
  /** The caller, and what precedes the paths of links in the response. */
  readonly request: Pick<Request, 'principal' | 'prefix'>;
}

/**
 * The identity of a request with a key; undefined: it has none, or is an operation of a batch, to which as a whole a key applies.
 * `content`: the body, or its digest. Throws 400.
 */
function identityOf(
  request: Request,
  content: () => Promise<string> | Buffer | string,
): Identity | undefined {
  const { principal, headers, run } = request;
  const field = headers['idempotency-key'];
  if (field === undefined || run) return undefined;
  const fingerprint = async () => fingerprintOf(request, await content());
  return { caller: callerKey(principal), key: readKey(String(field)), fingerprint, request };
}

/** A quoted string (RFC 8941 section 3.3.3) or a bare one, 1 to 255 visible characters. */
function readKey(field: string): string {
  const [, quoted, bare] =
    /^(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"|([\x21\x23-\x7e]{1,255}))$/.exec(field) ?? [];
  const key = quoted?.replace(/\\(.)/g, '$1') ?? bare;
  if (key === undefined) throw badRequest('Idempotency-Key must be a string of 1 to 255 characters.');
  return key;
}

/** Identifies a request by its method, address, version, media type, preference and body, or the digest of a body. */
function fingerprintOf(
  { method, path, version, query, headers, body }: Request,
  content: Buffer | string,
): string {
  const hash = createHash('sha256');
  for (const part of [
    method,
    version === DEFAULT_VERSION ? path : version.mount + path,
    query.text,
    body?.type ?? '',
    String(headers.prefer ?? ''),
    String(headers['if-match'] ?? ''),
    ...(method === 'PUT' ? [String(headers['if-none-match'] ?? '')] : []),
  ]) {
    hash.update(part).update('\n');
  }
  return hash.update(content).digest('base64url');
}
