import { createHmac } from 'node:crypto';

/**
 * The HMAC-SHA256 that a signed request carries as `X-Signature`, in base64: of timestamp (seconds since 1970),
 * method, target (path and query as sent) and body, joined by line feeds. The key is the secret in UTF-8.
 */
export function requestMac(
  secret: string,
  timestamp: string,
  method: string,
  target: string,
  body: string | Uint8Array,
): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}\n${method}\n${target}\n`).update(body).digest();
}
