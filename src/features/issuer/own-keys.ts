import { createRemoteJWKSet, customFetch, type JWK } from 'jose';
import type { Db } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';

/** The JWS algorithm of access tokens of the embedded authorization server. */
export const OWN_ALGORITHM = 'ES256';

/** The purpose of its keys in the database. */
export const SIGNING = 'sign';

/** How long a key that is published no more is accepted by a process. */
const MAX_AGE_MS = 10 * 60_000;

/** After a read that did not find a key, since any client can name one. */
const UNKNOWN_KEY_MS = 500;

/**
 * The public keys of access tokens of the embedded authorization server, which jose reads from the database as from an address: from
 * time to time, and for a key that another process added. The returned function rejects with JWKSNoMatchingKey, and while the database is away.
 */
export const ownKeys = (db: Db) =>
  createRemoteJWKSet(new URL('plinth:keys'), {
    cacheMaxAge: MAX_AGE_MS,
    cooldownDuration: UNKNOWN_KEY_MS,
    [customFetch]: async () => {
      const rows = await db.run(ISSUER_SQL.signing_keys, []);
      const own = rows.filter(({ purpose }) => purpose === SIGNING);
      return Response.json({ keys: own.map((row) => JSON.parse(String(row.public)) as JWK) });
    },
  });
