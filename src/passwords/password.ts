import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { parsePasswordHash, type ScryptHash } from './password-hash.js';
import { queueHash } from './password-queue.js';

/** OWASP's scrypt parameters: 2^17 needs 128 MiB a hash, so p is raised and N lowered to 2^15 (32 MiB). */
const COST = { N: 2 ** 15, r: 8, p: 3 } as const;
const KEY_BYTES = 32;
/** bcrypt ignores what comes after. */
const MAX_BCRYPT_BYTES = 72;

/** A password and its hash. */
export interface HashedPassword {
  readonly password: string;
  readonly hash: string;
}

/** A salted scrypt hash with its parameters: `scrypt$N$r$p$salt$key`. Throws unavailable when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, KEY_BYTES, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), key.toString('base64url')].join('$');
}

/**
 * Whether a password has this hash, of scrypt or bcrypt. Without a hash it is compared with none that fits, so that a
 * user who is not known costs what a wrong password does. Throws unavailable when too many wait.
 */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  const parsed = hash === undefined ? NOBODYS : parsePasswordHash(hash);
  if (!parsed) throw new Error('a stored password has a hash of an unknown kind');
  if (parsed.kind === 'bcrypt') return verifyBcrypt(password, parsed.text);
  const { cost, salt, key } = parsed;
  const derived = await derive(password, salt, key.length, cost);
  return timingSafeEqual(derived, key) && hash !== undefined;
}

/**
 * Whether a hash that this password fits is to be replaced by a new one: it was made with other parameters than new
 * ones are. Not if bcrypt has ignored the end of the password, which may have a mistake.
 */
export function isOutdated(hash: string, password: string): boolean {
  if (hash.startsWith('$2')) return Buffer.byteLength(password) <= MAX_BCRYPT_BYTES;
  return !hash.startsWith(['scrypt', COST.N, COST.r, COST.p, ''].join('$'));
}

const NOBODYS: ScryptHash = {
  kind: 'scrypt',
  cost: COST,
  salt: randomBytes(16),
  key: randomBytes(KEY_BYTES),
};

/** In a thread of libuv. The password's bytes are as the client sent them, as they were where the hash was made. */
async function verifyBcrypt(password: string, hash: string): Promise<boolean> {
  const { default: bcrypt } = await import('bcrypt');
  // PHP's name for what others call 2b.
  return queueHash(() => bcrypt.compare(password, hash.replace(/^\$2y/, '$2b')));
}

function derive(password: string, salt: Buffer, bytes: number, cost: ScryptOptions): Promise<Buffer> {
  const options = { ...cost, maxmem: 256 * 1024 * 1024 };
  return queueHash(() => scrypted(password.normalize('NFC'), salt, bytes, options));
}

function scrypted(password: string, salt: Buffer, bytes: number, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, bytes, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
