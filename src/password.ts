import { randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { unavailable } from './errors.js';

/** OWASP's scrypt parameters: 2^17 needs 128 MiB a hash, so p is raised and N lowered to 2^15 (32 MiB). */
const COST = { N: 2 ** 15, r: 8, p: 3 } as const;
const KEY_BYTES = 32;
/** Hashes under way or waiting for a thread; one more is a 503. */
const MOST = 32;

let pending = 0;

/** A salted scrypt hash with its parameters: `scrypt$N$r$p$salt$key`. Throws unavailable when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  if (pending >= MOST) throw unavailable('Too many passwords are being hashed.');
  pending++;
  try {
    const salt = randomBytes(16);
    const key = await derive(password, salt, { ...COST, maxmem: 64 * 1024 * 1024 });
    return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), key.toString('base64url')].join(
      '$',
    );
  } finally {
    pending--;
  }
}

function derive(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}
