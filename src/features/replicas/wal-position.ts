import { badRequest } from '../../errors/request-errors.js';

/** A position in the log of the database (WAL), in bytes. */
export type WalPosition = number;

/** The field in which a response to a write tells its position, and in which a client sends it with later reads. */
export const WRITE_POSITION = 'Write-Position';

/** The position that a client requires; 0: none. Throws 400 for a text that is no position. */
export function requiredPosition(field: string | string[] | undefined): WalPosition {
  if (field === undefined) return 0;
  const position = /^[0-9a-z]{1,11}$/.test(String(field)) ? Number.parseInt(String(field), 36) : Number.NaN;
  if (!Number.isSafeInteger(position))
    throw badRequest(`${WRITE_POSITION} must have the value of that field in a response.`);
  return position;
}

/**
 * The maximum age of what a client accepts, in milliseconds: `max-age` and `no-cache` of Cache-Control (RFC 9111 section
 * 5.2.1). Undefined: it does not say.
 */
export function acceptedAgeMs(cacheControl: string | undefined): number | undefined {
  if (cacheControl === undefined) return undefined;
  if (/(^|,)\s*no-cache\s*(,|$)/i.test(cacheControl)) return 0;
  const [, seconds] = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,9})"?\s*(?:,|$)/i.exec(cacheControl) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
