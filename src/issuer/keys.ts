import { randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { OWN_ALGORITHM } from '../auth/tokens/own-keys.js';
import type { Db, Run } from '../db/db.js';
import { readStatements } from '../db/statements.js';
import { decrypt, encrypt, isEncrypted } from './key-encryption.js';

const SQL = readStatements('issuer.sql');

/** What the authorization server signs with. */
export interface IssuerKeys {
  /** Private keys. The first one signs, the others are published. */
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
    await run(SQL.get('lock_keys')!, []);
    if ((await run(SQL.get('signing_keys')!, [])).length === 0) await addSigningKey(run, key, 0);
    const [pages] = await run(SQL.get('pages_secret')!, []);
    if (!pages) {
      const secret = encrypt(randomBytes(32).toString('base64url'), 'pages', key);
      await run(SQL.get('insert_key')!, ['pages', 'pages', '', secret, 0]);
    }
    if (key) await encryptAll(run, key);
  });
  return readKeys(db, key);
}

/** Reads the keys as they are now. */
export async function readKeys(db: Db, key: Buffer | undefined): Promise<IssuerKeys> {
  const [signing, [pages]] = await Promise.all([
    db.run(SQL.get('signing_keys')!, []),
    db.run(SQL.get('pages_secret')!, []),
  ]);
  return {
    signing: signing.map(
      ({ id, private: text }) => JSON.parse(decrypt(String(text), String(id), key)) as JWK,
    ),
    pagesSecret: decrypt(String(pages!.private), 'pages', key),
  };
}

/** Adds a key that signs after `delaySeconds`, and deletes those that were replaced long ago. Returns its id. */
export function rotateKeys(db: Db, key: Buffer | undefined, delaySeconds: number): Promise<string> {
  return db.transaction(async (run) => {
    await run(SQL.get('lock_keys')!, []);
    const id = await addSigningKey(run, key, delaySeconds);
    await run(SQL.get('delete_old_keys')!, []);
    return id;
  });
}

async function addSigningKey(run: Run, key: Buffer | undefined, delaySeconds: number): Promise<string> {
  const pair = await generateKeyPair(OWN_ALGORITHM, { extractable: true });
  const published = await exportJWK(pair.publicKey);
  const kid = await calculateJwkThumbprint(published);
  const common = { kid, alg: OWN_ALGORITHM, use: 'sig' };
  const secret = JSON.stringify({ ...(await exportJWK(pair.privateKey)), ...common });
  const args = [
    kid,
    'sign',
    JSON.stringify({ ...published, ...common }),
    encrypt(secret, kid, key),
    delaySeconds,
  ];
  await run(SQL.get('insert_key')!, args);
  return kid;
}

async function encryptAll(run: Run, key: Buffer): Promise<void> {
  const rows = [...(await run(SQL.get('signing_keys')!, [])), ...(await run(SQL.get('pages_secret')!, []))];
  for (const { id, private: text } of rows.filter((row) => !isEncrypted(String(row.private))))
    await run(SQL.get('encrypt_key')!, [
      id as string,
      text as string,
      encrypt(String(text), String(id), key),
    ]);
}
