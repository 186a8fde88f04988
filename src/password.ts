import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { unavailable } from './errors.js';

/** OWASP's scrypt parameters: 2^17 needs 128 MiB a hash, so p is raised and N lowered to 2^15 (32 MiB). */
const COST = { N: 2 ** 15, r: 8, p: 3 } as const;
const KEY_BYTES = 32;
/** Hashes under way at once: requests without a password keep cores and threads of their own. */
const AT_ONCE = Math.max(1, Math.min(Math.floor(availableParallelism() / 2), 2));
/** Hashes under way or waiting; one more is a 503. */
const MOST = 16;

/** A password and its hash. */
export interface PasswordHash {
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
 * Whether a password has this hash. Without a hash it is compared with none that fits, so that a user who is not
 * known costs what a wrong password does. Throws unavailable when too many wait.
 */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  const { cost, salt, key } = parse(hash) ?? NOBODYS;
  const derived = await derive(password, salt, key.length, cost);
  return timingSafeEqual(derived, key) && hash !== undefined;
}

/** Whether a hash was made with other parameters than new ones are. */
export function isOutdated(hash: string): boolean {
  return !hash.startsWith(['scrypt', COST.N, COST.r, COST.p, ''].join('$'));
}

interface Parsed {
  readonly cost: ScryptOptions;
  readonly salt: Buffer;
  readonly key: Buffer;
}

const NOBODYS: Parsed = { cost: COST, salt: randomBytes(16), key: randomBytes(KEY_BYTES) };

function parse(hash: string | undefined): Parsed | undefined {
  if (hash === undefined) return undefined;
  const [name, N, r, p, salt = '', key = ''] = hash.split('$');
  if (name !== 'scrypt') throw new Error('a stored password has a hash of an unknown kind');
  return {
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    key: Buffer.from(key, 'base64url'),
  };
}

let running = 0;
const waiting: (() => void)[] = [];

async function derive(password: string, salt: Buffer, bytes: number, cost: ScryptOptions): Promise<Buffer> {
  if (running + waiting.length >= MOST) throw unavailable('Too many passwords are being checked.');
  if (running >= AT_ONCE) await new Promise<void>((turn) => waiting.push(turn));
  else running++;
  try {
    return await scrypted(password.normalize('NFC'), salt, bytes, { ...cost, maxmem: 256 * 1024 * 1024 });
  } finally {
    // The turn, when somebody waits for it, goes on to them as it is.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

function scrypted(password: string, salt: Buffer, bytes: number, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, bytes, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
