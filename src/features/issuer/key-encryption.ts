import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ExitError } from '../../errors/exit-error.js';

/** Begins an encrypted text. An unencrypted one is JSON or base64url. */
const PREFIX = 'aes-256-gcm:';
const IV_BYTES = 12;
const TAG_BYTES = 16;

export const isEncrypted = (text: string) => text.startsWith(PREFIX);

/** Encrypts a private key with AES-256-GCM, for its id; as it is without a `key`. */
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
