import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { parsePasswordHash, type ScryptHash } from './password-hash.js';
import { queueHash } from './password-queue.js';

/**
 * The scrypt parameters of new hashes, one of OWASP's equivalent choices: 32 MiB for each hash instead of 128 MiB for
 * N = 2^17. Only tests change them.
 */
export const HASH_COST = { N: 2 ** 15, r: 8, p: 3 };
const KEY_BYTES = 32;
/** bcrypt ignores further bytes. */
const MAX_BCRYPT_BYTES = 72;

export interface HashedPassword {
  readonly password: string;
  readonly hash: string;
}

/** A salted scrypt hash with its parameters: `scrypt$N$r$p$salt$key`. Throws 503 when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, KEY_BYTES, HASH_COST);
  return [
    'scrypt',
    HASH_COST.N,
    HASH_COST.r,
    HASH_COST.p,
    salt.toString('base64url'),
    key.toString('base64url'),
  ].join('$');
}

/**
 * Whether a password has this hash, of scrypt or bcrypt. Without a hash, a comparison that fails costs the same time,
 * so that unknown users cannot be distinguished from wrong passwords. Throws 503 when too many wait.
 */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  const parsed = hash === undefined ? UNKNOWN_USER : parsePasswordHash(hash);
  if (!parsed) throw new Error('a stored password has a hash in an unknown format');
  if (parsed.kind === 'bcrypt') return verifyBcrypt(password, parsed.text);
  const { cost, salt, key } = parsed;
  const derived = await derive(password, salt, key.length, cost);
  return timingSafeEqual(derived, key) && hash !== undefined;
}

/**
 * Whether the hash of a verified password should be replaced, because it has other parameters than new hashes. A hash
 * by bcrypt stays if bcrypt ignored the end of the password, which was not verified then.
 */
export function isOutdated(hash: string, password: string): boolean {
  if (hash.startsWith('$2')) return Buffer.byteLength(password) <= MAX_BCRYPT_BYTES;
  return !hash.startsWith(['scrypt', HASH_COST.N, HASH_COST.r, HASH_COST.p, ''].join('$'));
}

const UNKNOWN_USER: ScryptHash = {
  kind: 'scrypt',
  cost: HASH_COST,
  salt: randomBytes(16),
  key: randomBytes(KEY_BYTES),
};

/** Without NFC, since the hash was made elsewhere. */
async function verifyBcrypt(password: string, hash: string): Promise<boolean> {
  const { default: bcrypt } = await import('bcrypt');
  // PHP writes 2y for 2b.
  return queueHash(() => bcrypt.compare(password, hash.replace(/^\$2y/, '$2b')));
}

function derive(password: string, salt: Buffer, bytes: number, cost: ScryptOptions): Promise<Buffer> {
  const options = { ...cost, maxmem: 256 * 1024 * 1024 };
  return queueHash(() => scryptAsync(password.normalize('NFC'), salt, bytes, options));
}

function scryptAsync(password: string, salt: Buffer, bytes: number, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, bytes, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
