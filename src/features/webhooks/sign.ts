import { createHmac, randomBytes } from 'node:crypto';

/** A message to a target. */
export interface Message {
  /** One id for all attempts, unique among messages. */
  readonly id: string;
  /** The time of the attempt, in seconds since 1970. */
  readonly timestamp: number;
  /** Path and query of the target's URL. */
  readonly target: string;
  readonly body: string;
}

/**
 * The fields that sign a message in both schemes. Standard Webhooks 1.0 has a signature for each of the secrets, the current
 * one first. X-Signature has one, and its receiver knows the current or the former secret: attempts, counted by `tries`
 * from 1, alternate between them.
 */
export function signWebhook(
  { id, timestamp, target, body }: Message,
  secrets: readonly string[],
  tries = 1,
): Record<string, string> {
  const time = String(timestamp);
  const requestSecret = secrets[(tries - 1) % secrets.length]!;
  return {
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': secrets
      .map((secret) => `v1,${webhookMac(keyOf(secret)!, id, time, body).toString('base64')}`)
      .join(' '),
    'X-Timestamp': time,
    'X-Signature': requestMac(requestSecret, time, target, body).toString('base64'),
  };
}

/** HMAC-SHA256 over id, timestamp and body, joined by full stops (Standard Webhooks 1.0). */
export const webhookMac = (key: Buffer, id: string, timestamp: string, body: string | Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();

/** HMAC-SHA256 over timestamp, method, target and body, joined by line feeds, as requests to this service are signed. */
export const requestMac = (
  secret: string,
  timestamp: string,
  target: string,
  body: string | Uint8Array,
): Buffer => createHmac('sha256', secret).update(`${timestamp}\nPOST\n${target}\n`).update(body).digest();

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
