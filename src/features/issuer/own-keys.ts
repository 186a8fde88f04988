import {
  type CompactJWSHeaderParameters,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JWK,
} from 'jose';
import type { Db } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';

/** The JWS algorithm of access tokens of the embedded authorization server. */
export const OWN_ALGORITHM = 'ES256';

/** The purpose of its keys in the database. */
export const SIGNING = 'sign';

/** After a read that did not find a key, since any client can name one. */
const UNKNOWN_KEY_MS = 500;

type FindKey = ReturnType<typeof createLocalJWKSet>;

/** The public keys of access tokens of the embedded authorization server, from the database. */
export class OwnKeys {
  #keys: Promise<FindKey> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(readonly db: Db) {}

  /** The key that a token's header names. Rejects with JWKSNoMatchingKey, and while the database is away. */
  readonly find = async (...header: [CompactJWSHeaderParameters, FlattenedJWSInput]) => {
    try {
      return await (await (this.#keys ?? this.#read()))(...header);
    } catch (error) {
      // A key that another process added is read at once.
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknown || performance.now() - this.#readAt < UNKNOWN_KEY_MS) throw error;
      return (await this.#read())(...header);
    }
  };

  /** Makes the next `find` read the database. */
  forget(): void {
    this.#keys = undefined;
  }

  #read(): Promise<FindKey> {
    this.#readAt = performance.now();
    const keys = readKeys(this.db);
    this.#keys = keys;
    keys.catch(() => {
      if (this.#keys === keys) this.#keys = undefined;
    });
    return keys;
  }
}

async function readKeys(db: Db): Promise<FindKey> {
  const rows = (await db.run(ISSUER_SQL.signing_keys, [])).filter(({ purpose }) => purpose === SIGNING);
  return createLocalJWKSet({ keys: rows.map((row) => JSON.parse(String(row.public)) as JWK) });
}
