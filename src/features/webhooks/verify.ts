import { timingSafeEqual } from 'node:crypto';
import { keyOf, requestMac, webhookMac } from './sign.js';

/** Why a message is not valid. `BAD_OPTION`, `BAD_SECRET` and `MISSING_PATH` are errors of the caller, not of the sender. */
export type WebhookErrorCode =
  | 'BAD_OPTION'
  | 'BAD_SECRET'
  | 'BAD_SIGNATURE'
  | 'BAD_TIMESTAMP'
  | 'MISSING_HEADERS'
  | 'MISSING_PATH'
  | 'TIMESTAMP_TOO_NEW'
  | 'TIMESTAMP_TOO_OLD';

/** The message is not authentic. The text contains nothing of the secret, the signature or the body. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';

  constructor(
    readonly code: WebhookErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** Fields of a request as node:http has them, or a Headers of fetch; names in any case. */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

export type WebhookScheme = 'standard-webhooks' | 'x-signature';

export interface VerifyOptions {
  /**
   * The scheme that the receiver expects: `standard-webhooks` (default) by the `webhook-*` fields, or `x-signature`. The
   * message never decides, so that removing fields cannot select the other scheme.
   */
  readonly scheme?: WebhookScheme;
  /** Maximum difference between the timestamp and now, either way; seconds, finite, not negative. 300 by default. */
  readonly toleranceSeconds?: number;
  /** Path and query of the request, `req.url` of node:http. Required for `x-signature`. */
  readonly path?: string;
  /** The time to compare with, in milliseconds since 1970. */
  readonly now?: number;
}

/** The parts of the head that the signature covers. */
export interface Verified {
  /**
   * The id of the message, one for all attempts, so that a receiver can ignore repetitions. Undefined for X-Signature, which
   * does not cover it.
   */
  readonly id: string | undefined;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

const TOLERANCE_S = 300;
const BYTES = 32;

/**
 * Verifies a message by the `webhook-*` fields (Standard Webhooks 1.0) or, if `scheme` says so, by `X-Signature`. The
 * body must be the received bytes. With several secrets, any one of them may match. Throws WebhookError.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Verified {
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0 || secrets.some((text) => typeof text !== 'string' || text === ''))
    throw new WebhookError('BAD_SECRET', 'there is no secret to verify with');
  requireOptions(options);
  const verify = options.scheme === 'x-signature' ? verifyXSignature : verifyStandard;
  return verify(rawBody, reader(headers), secrets, options);
}

type Field = (name: string) => string | undefined;

/** NaN would make every comparison of times false, and so every age valid. */
function requireOptions({ scheme, toleranceSeconds, now }: VerifyOptions): void {
  if (scheme !== undefined && scheme !== 'standard-webhooks' && scheme !== 'x-signature')
    throw new WebhookError('BAD_OPTION', 'scheme is `standard-webhooks` or `x-signature`');
  if (toleranceSeconds !== undefined && !(Number.isFinite(toleranceSeconds) && toleranceSeconds >= 0))
    throw new WebhookError('BAD_OPTION', 'toleranceSeconds is a finite number that is not negative');
  if (now !== undefined && !Number.isFinite(now))
    throw new WebhookError('BAD_OPTION', 'now is a finite number of milliseconds since 1970');
}

function verifyXSignature(
  rawBody: string | Uint8Array,
  field: Field,
  secrets: readonly string[],
  options: VerifyOptions,
): Verified {
  const signature = field('x-signature');
  if (signature === undefined) throw new WebhookError('MISSING_HEADERS', 'there is no X-Signature');
  const timestamp = timeOf(field('x-timestamp'), 'X-Timestamp', options);
  const { path } = options;
  if (path === undefined)
    throw new WebhookError('MISSING_PATH', 'X-Signature covers the path, and no path is given');
  requireOne(
    secrets.map((text) => requestMac(text, timestamp, path, rawBody)),
    [signature],
  );
  return { id: undefined, timestamp: Number(timestamp) };
}

function verifyStandard(
  rawBody: string | Uint8Array,
  field: Field,
  secrets: readonly string[],
  options: VerifyOptions,
): Verified {
  const signatures = field('webhook-signature');
  if (signatures === undefined) throw new WebhookError('MISSING_HEADERS', 'there is no webhook-signature');
  const id = field('webhook-id');
  if (id === undefined) throw new WebhookError('MISSING_HEADERS', 'there is no webhook-id');
  const timestamp = timeOf(field('webhook-timestamp'), 'webhook-timestamp', options);
  const wanted = secrets.map((text) => {
    const key = keyOf(text);
    if (!key) throw new WebhookError('BAD_SECRET', 'a secret is `whsec_` and the base64 of 24 to 64 bytes');
    return webhookMac(key, id, timestamp, rawBody);
  });
  const given = signatures.split(' ').flatMap((text) => (text.startsWith('v1,') ? [text.slice(3)] : []));
  requireOne(wanted, given);
  return { id, timestamp: Number(timestamp) };
}

function reader(headers: WebhookHeaders): Field {
  if (typeof headers.get === 'function') {
    const get = headers.get.bind(headers) as (name: string) => string | null;
    return (name) => get(name) || undefined;
  }
  const fields = new Map(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
  return (name) => fields.get(name) || undefined;
}

function timeOf(text: string | undefined, name: string, options: VerifyOptions): string {
  if (text === undefined) throw new WebhookError('MISSING_HEADERS', `there is no ${name}`);
  if (!/^\d{1,12}$/.test(text)) throw new WebhookError('BAD_TIMESTAMP', `${name} takes seconds since 1970`);
  const { toleranceSeconds = TOLERANCE_S, now = Date.now() } = options;
  const age = now / 1000 - Number(text);
  if (age > toleranceSeconds) throw new WebhookError('TIMESTAMP_TOO_OLD', `${name} is too long ago`);
  if (age < -toleranceSeconds) throw new WebhookError('TIMESTAMP_TOO_NEW', `${name} is too far ahead`);
  return text;
}

/** Compares each signature with each expected one in constant time. */
function requireOne(wanted: readonly Buffer[], given: readonly string[]): void {
  let fits = false;
  for (const text of given) {
    const signature = Buffer.from(text, 'base64');
    if (signature.length !== BYTES) continue;
    for (const mac of wanted) fits = timingSafeEqual(mac, signature) || fits;
  }
  if (!fits) throw new WebhookError('BAD_SIGNATURE', 'no signature fits the body and a secret');
}
