import { createHash } from 'node:crypto';
import type { Db, Run } from '../db/connect.js';
import { readStatements } from '../db/queries.js';
import { badRequest, keyInUse, keyReused } from '../errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';

const STATEMENTS = readStatements('idempotency.sql');
const [LOCK, FIND, KEEP] = ['lock', 'find', 'keep'].map((name) => STATEMENTS.get(name)!) as [
  string,
  string,
  string,
];

/**
 * An action whose repeats under one Idempotency-Key get the first answer again
 * (draft-ietf-httpapi-idempotency-key-header-07). The answer is kept in the transaction of what it tells of, so
 * there is one if and only if the other is. Throws 400 for a malformed key, 422 for a key of a different
 * request, 409 while the first is in flight. Only successful answers are kept, for `ttlSeconds`.
 */
export function idempotent(db: Db, ttlSeconds: number, action: Action): Action {
  return {
    ...action,
    run: (request) => {
      const field = request.headers['idempotency-key'];
      // In a batch it is the batch that has a key.
      if (field === undefined || request.run) return action.run(request);
      const key = readKey(String(field));
      return db.transaction((run) => once(run, ttlSeconds, key, request, action));
    },
  };
}

async function once(
  run: Run,
  ttlSeconds: number,
  key: string,
  request: Request,
  action: Action,
): Promise<Reply> {
  const caller = request.principal.subject;
  const fingerprint = fingerprintOf(request);
  const [lock] = await run(LOCK, [`${caller}\n${key}`]);
  if (lock?.locked !== true) throw keyInUse();
  const [kept] = await run(FIND, [caller, key, ttlSeconds]);
  if (kept) {
    if (kept.fingerprint !== fingerprint) throw keyReused();
    const headers = JSON.parse(kept.headers as string) as string[];
    const body = kept.body === null ? {} : { body: kept.body as string };
    return { status: kept.status as number, headers: [...headers, 'Idempotency-Replayed', 'true'], ...body };
  }
  const reply = await action.run({ ...request, run });
  await run(KEEP, [
    caller,
    key,
    fingerprint,
    reply.status,
    JSON.stringify(reply.headers),
    reply.body ?? null,
  ]);
  return reply;
}

/** A quoted string (RFC 8941 section 3.3.3) or a bare one, 1 to 255 visible characters. */
function readKey(field: string): string {
  const [, quoted, bare] =
    /^(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"|([\x21\x23-\x7e]{1,255}))$/.exec(field) ?? [];
  const key = quoted?.replace(/\\(.)/g, '$1') ?? bare;
  if (key === undefined) throw badRequest('Idempotency-Key takes a string of 1 to 255 characters.');
  return key;
}

/** Tells requests apart by method, address, media type, preference and body. */
function fingerprintOf({ method, path, query, headers, body }: Request): string {
  const hash = createHash('sha256');
  for (const part of [
    method,
    path,
    query,
    body?.type ?? '',
    String(headers.prefer ?? ''),
    String(headers['if-match'] ?? ''),
  ]) {
    hash.update(part).update('\n');
  }
  return hash.update(body?.bytes ?? '').digest('base64url');
}
