import { type CryptoKey, errors, importJWK, type JWK } from 'jose';
import type { Db } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';

const SIGNING_KEYS = ISSUER_SQL.signing_keys;

/** The JWS algorithm of access tokens of the embedded authorization server. */
export const OWN_ALGORITHM = 'ES256';

/** The purpose of its keys in the database. */
export const SIGNING = 'sign';

/** After a read that did not find a key, since any client can name one. */
const UNKNOWN_KEY_MS = 500;

type Keys = ReadonlyMap<string, CryptoKey>;

/** The public keys of access tokens of the embedded authorization server, from the database. */
export class OwnKeys {
  #keys: Promise<Keys> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(readonly db: Db) {}

  /** The key that a token's header names. Rejects with JWKSNoMatchingKey, and while the database is away. */
  async find(kid: string | undefined): Promise<CryptoKey> {
    const key = await this.#lookUp(kid ?? '');
    if (!key) throw new errors.JWKSNoMatchingKey();
    return key;
  }

  /** Makes the next `find` read the database. */
  forget(): void {
    this.#keys = undefined;
  }

  /** A key that another process added is read at once. */
  async #lookUp(kid: string): Promise<CryptoKey | undefined> {
    const known = (await (this.#keys ?? this.#read())).get(kid);
    if (known || performance.now() - this.#readAt < UNKNOWN_KEY_MS) return known;
    return (await this.#read()).get(kid);
  }

  #read(): Promise<Keys> {
    this.#readAt = performance.now();
    const keys = readKeys(this.db);
    this.#keys = keys;
    keys.catch(() => {
      if (this.#keys === keys) this.#keys = undefined;
    });
    return keys;
  }
}

async function readKeys(db: Db): Promise<Keys> {
  const rows = await db.run(SIGNING_KEYS, []);
  const entries = rows
    .filter(({ purpose }) => purpose === SIGNING)
    .map(
      async ({ id, public: jwk }): Promise<[string, CryptoKey]> => [
        String(id),
        (await importJWK(JSON.parse(String(jwk)) as JWK, OWN_ALGORITHM)) as CryptoKey,
      ],
    );
  return new Map(await Promise.all(entries));
}
