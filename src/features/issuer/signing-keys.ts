import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Db, Run } from '../../db/db.js';
import { ExitError } from '../../errors/exit-error.js';
import { ID_TOKEN_ALGORITHMS, type IdTokenAlgorithm } from './client-kind.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { OWN_ALGORITHM, SIGNING } from './own-keys.js';

/** The purpose that the database stores for a key of an algorithm. */
const PURPOSES: Readonly<Record<IdTokenAlgorithm, string>> = {
  [OWN_ALGORITHM]: SIGNING,
  RS256: 'sign-rs256',
};

/** The keys with which the authorization server signs. */
export interface IssuerKeys {
  /** Private keys. Of each algorithm, the first one signs, the others are published. */
  readonly signing: readonly JWK[];
  /** For the tokens of forms and the signatures of cookies. */
  readonly pagesSecret: string;
}

/**
 * Reads the keys, and creates them on the first start: of processes that start together one does. Encrypts keys that were
 * stored without AUTH_SERVER_KEY. Throws ExitError when the keys cannot be decrypted.
 */
export async function openKeys(db: Db, key: Buffer | undefined): Promise<IssuerKeys> {
  await db.transaction(async (run) => {
    await run(ISSUER_SQL.lock_keys, []);
    const present = (await run(ISSUER_SQL.signing_keys, [])).map(({ purpose }) => purpose);
    for (const algorithm of ID_TOKEN_ALGORITHMS)
      if (!present.includes(PURPOSES[algorithm])) await addSigningKey(run, key, algorithm, 0);
    const [pages] = await run(ISSUER_SQL.pages_secret, []);
    if (!pages) {
      const secret = encrypt(randomBytes(32).toString('base64url'), 'pages', key);
      await run(ISSUER_SQL.insert_key, ['pages', 'pages', '', secret, 0]);
    }
    if (key) await encryptAll(run, key);
  });
  return readKeys(db, key);
}

/** Reads the keys as they are now. */
export async function readKeys(db: Db, key: Buffer | undefined): Promise<IssuerKeys> {
  const [signing, [pages]] = await Promise.all([
    db.run(ISSUER_SQL.signing_keys, []),
    db.run(ISSUER_SQL.pages_secret, []),
  ]);
  return {
    signing: signing.map(
      ({ id, private: text }) => JSON.parse(decrypt(String(text), String(id), key)) as JWK,
    ),
    pagesSecret: decrypt(String(pages!.private), 'pages', key),
  };
}

/**
 * Adds a key of each algorithm that signs after `delaySeconds`, and deletes those that were replaced long ago. Returns the
 * ids of the new keys.
 */
export function rotateKeys(
  db: Db,
  key: Buffer | undefined,
  delaySeconds: number,
): Promise<{ readonly alg: IdTokenAlgorithm; readonly id: string }[]> {
  return db.transaction(async (run) => {
    await run(ISSUER_SQL.lock_keys, []);
    const added = [];
    for (const alg of ID_TOKEN_ALGORITHMS)
      added.push({ alg, id: await addSigningKey(run, key, alg, delaySeconds) });
    await run(ISSUER_SQL.delete_old_keys, []);
    return added;
  });
}

async function addSigningKey(
  run: Run,
  key: Buffer | undefined,
  alg: IdTokenAlgorithm,
  delaySeconds: number,
): Promise<string> {
  const pair = await generateKeyPair(alg, { extractable: true });
  const published = await exportJWK(pair.publicKey);
  const kid = await calculateJwkThumbprint(published);
  const common = { kid, alg, use: 'sig' };
  const secret = JSON.stringify({ ...(await exportJWK(pair.privateKey)), ...common });
  const args = [
    kid,
    PURPOSES[alg],
    JSON.stringify({ ...published, ...common }),
    encrypt(secret, kid, key),
    delaySeconds,
  ];
  await run(ISSUER_SQL.insert_key, args);
  return kid;
}

async function encryptAll(run: Run, key: Buffer): Promise<void> {
  const rows = [...(await run(ISSUER_SQL.signing_keys, [])), ...(await run(ISSUER_SQL.pages_secret, []))];
  for (const { id, private: text } of rows.filter((row) => !isEncrypted(String(row.private))))
    await run(ISSUER_SQL.encrypt_key, [id as string, text as string, encrypt(String(text), String(id), key)]);
}

/** Begins an encrypted text. An unencrypted one is JSON or base64url. */
const PREFIX = 'aes-256-gcm:';
const IV_BYTES = 12;
const TAG_BYTES = 16;

const isEncrypted = (text: string) => text.startsWith(PREFIX);

/** Encrypts a secret with AES-256-GCM, for its id; as it is without a `key`. */
export function encrypt(text: string, id: string, key: Buffer | undefined): string {
  if (!key) return text;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(id));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64');
}

/** The reverse of `encrypt`. Throws ExitError if the text was encrypted with another key, or for another id. */
export function decrypt(text: string, id: string, key: Buffer | undefined): string {
  if (!isEncrypted(text)) return text;
  if (!key)
    throw new ExitError(
      "the signing keys are encrypted: set AUTH_SERVER_KEY to the key's 32 bytes in base64",
    );
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64');
  const encryptedAt = IV_BYTES + TAG_BYTES;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(id))
      .setAuthTag(bytes.subarray(IV_BYTES, encryptedAt));
    return decipher.update(bytes.subarray(encryptedAt), undefined, 'utf8') + decipher.final('utf8');
  } catch (error) {
    throw new ExitError('AUTH_SERVER_KEY is not the key with which the signing keys were encrypted', {
      cause: error,
    });
  }
}
