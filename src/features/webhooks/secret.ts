import { randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const BYTES = 32;
/** Bytes of a symmetric key (Standard Webhooks 1.0). */
const [MIN_BYTES, MAX_BYTES] = [24, 64];

/** A new secret of a webhook (Standard Webhooks 1.0): `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return PREFIX + randomBytes(BYTES).toString('base64');
}

/** The key in a secret, with or without `whsec_`; undefined if it is not the base64 of 24 to 64 bytes. */
export function keyOf(secret: string): Buffer | undefined {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  const key = Buffer.from(text, 'base64');
  if (unpadded(key.toString('base64')) !== unpadded(text)) return undefined;
  return key.length >= MIN_BYTES && key.length <= MAX_BYTES ? key : undefined;
}

function unpadded(base64: string): string {
  let end = base64.length;
  while (base64[end - 1] === '=') end--;
  return base64.slice(0, end);
}
