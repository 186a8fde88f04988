import type { ServerResponse } from 'node:http';
import { invalidBody, payloadTooLarge } from '../errors/input-errors.js';
import { beyond } from '../errors/service-errors.js';
import type { BodyCoding } from '../http/content-coding.js';
import { BODIES } from '../limits/byte-budget.js';
import { WorkSlots } from '../work/work-slots.js';
import { BodyAborted, type BodyLimits } from './arriving-body.js';
import { decompressBody } from './codecs.js';

/** Bodies that are decompressed at a time; Node's pool has four threads. Those that wait are in memory as they were sent. */
const slots = new WorkSlots(2, 1024);

/**
 * Decompresses a body. The limit of a body applies to the result as well, which is held until the request is done. Rejects
 * with 400 for data that is not in this coding, 413, 503, and BodyAborted.
 */
export async function decodeBody(
  bytes: Buffer,
  coding: BodyCoding,
  res: ServerResponse,
  { bodyLimit, bodyBytes }: BodyLimits,
): Promise<Buffer> {
  const decoded = await slots.run(() => decompressBody(bytes, coding, bodyLimit));
  if (decoded === undefined) throw beyond('bodies');
  if (decoded === 'invalid') throw invalidBody(`The body is not valid ${coding}.`, 'encoding');
  if (decoded === 'too-large') throw payloadTooLarge(bodyLimit);
  // The close of the response would not be reported again.
  if (res.destroyed) throw new BodyAborted();
  if (!BODIES.fits(decoded.length, bodyBytes)) throw beyond('bodies');
  BODIES.addUntilClose(res, decoded.length);
  return decoded;
}
