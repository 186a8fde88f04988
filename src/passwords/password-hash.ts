/** A key derived by scrypt, or the text of bcrypt, which contains its parameters. */
type PasswordHash = ScryptHash | { readonly kind: 'bcrypt'; readonly text: string };

export interface ScryptHash {
  readonly kind: 'scrypt';
  readonly cost: { readonly N: number; readonly r: number; readonly p: number };
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** Limits of memory and work for imported hashes, since each sign-in has their cost. */
const MAX_SCRYPT_BYTES = 128 * 1024 * 1024;
const MAX_SCRYPT_WORK = 2 ** 22;
/** Each step doubles the time. */
const MAX_BCRYPT_COST = 14;

const SCRYPT = /^scrypt\$(\d{1,7})\$(\d{1,3})\$(\d{1,3})\$([\w-]{11,86})\$([\w-]{22,86})$/;
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** Reads `scrypt$N$r$p$salt$key` (base64url) or bcrypt's `$2b$cost$...`; undefined for anything else. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  if (BCRYPT.test(text)) return { kind: 'bcrypt', text };
  const [, N, r, p, salt, key] = SCRYPT.exec(text) ?? [];
  if (salt === undefined || key === undefined) return undefined;
  return {
    kind: 'scrypt',
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    key: Buffer.from(key, 'base64url'),
  };
}

/** Whether a hash may be imported: its format is supported, and a sign-in with it does not cost too much. */
export function isImportableHash(text: string): boolean {
  const hash = parsePasswordHash(text);
  if (hash?.kind === 'bcrypt') {
    const cost = Number(BCRYPT.exec(text)![1]);
    return cost >= 4 && cost <= MAX_BCRYPT_COST;
  }
  return hash !== undefined && isAffordable(hash);
}

/** Within the limits, and valid by RFC 7914 section 2: N is a power of two above 1 and below 2^(128 * r / 8). */
function isAffordable({ cost: { N, r, p } }: ScryptHash): boolean {
  const isValid = N > 1 && (N & (N - 1)) === 0 && Math.log2(N) < 16 * r && r > 0 && p > 0;
  return isValid && 128 * r * N <= MAX_SCRYPT_BYTES && N * r * p <= MAX_SCRYPT_WORK;
}
