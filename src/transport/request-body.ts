import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as tick } from 'node:timers/promises';
import { tooManyOfAddress } from '../errors/caller-errors.js';
import { payloadTooLarge, unsupportedEncoding, unsupportedMediaType } from '../errors/input-errors.js';
import { beyond } from '../errors/service-errors.js';
import { BODY_CODINGS, type BodyCoding, bodyCoding } from '../http/content-coding.js';
import { FORM_TYPE } from '../http/media-types.js';
import type { Body } from '../http/request.js';
import { readJson } from '../http/strict-json.js';
import { BODIES } from '../limits/byte-budget.js';
import { CountsByKey } from '../limits/counts-by-key.js';
import { clientKey } from '../limits/rate-limit.js';
import { WorkSlots } from '../work/shared-runs.js';
import { BodyAborted, BodyStream, type RateLimits, type ReceivedBytes } from './body-stream.js';

export interface BodyLimits extends RateLimits {
  /** Bytes of one body. */
  readonly bodyLimit: number;
  /** Bytes of all bodies that this process holds. */
  readonly bodyBytes: number;
  /** Bytes of incomplete bodies from one client address; 0: no limit. */
  readonly bodyBytesPerAddress: number;
}

const NOTHING: Buffer = Buffer.alloc(0);

/** Whether the request announces content (RFC 9112 section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'transfer-encoding': coding, 'content-length': length } = req.headers;
  return coding !== undefined || (length !== undefined && Number(length) > 0);
}

/**
 * Whether the end of the body is unknown, so that the bytes after it must not be parsed as a request: a transfer
 * coding from an HTTP/1.0 client, or one that the server does not implement (RFC 9112 sections 6.1 and 6.3).
 */
export function hasUnknownLength(req: IncomingMessage): boolean {
  const coding = req.headers['transfer-encoding'];
  return coding !== undefined && (req.httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
}

/** The server reads and discards the rest of an unread body up to this length; a longer one ends the connection. */
const MAX_SKIPPED_BYTES = 65_536;

/** Whether an unread body is too long to discard, or may never arrive because the client `expects` 100 Continue. */
export function staysUnread(req: IncomingMessage, expects: boolean): boolean {
  if (req.complete || !hasBody(req)) return false;
  return expects || !(Number(req.headers['content-length']) <= MAX_SKIPPED_BYTES);
}

/** Parses a body: the value of a form is its names and values, in their order. Throws 400. */
export function parseBody(type: string, bytes: Buffer): Body | Promise<Body> {
  const value = type === FORM_TYPE ? [...new URLSearchParams(bytes.toString('utf8'))] : readJson(bytes);
  return value instanceof Promise ? value.then((value) => ({ type, value, bytes })) : { type, value, bytes };
}

/** The form of a body. */
export interface BodyForm {
  /** The media type, without parameters. */
  readonly type: string;
  readonly coding: BodyCoding | undefined;
}

/** The form of the body of a request; undefined: it has none. Throws 415 for one that is not accepted. */
export function bodyForm(req: IncomingMessage, accepted: readonly string[]): BodyForm | undefined {
  const { 'content-type': header, 'content-encoding': coded } = req.headers;
  const coding = coded === undefined ? undefined : bodyCoding(coded);
  if (coding === 'unknown') throw unsupportedEncoding(BODY_CODINGS);
  const isEmpty = !hasBody(req);
  if (header === undefined && isEmpty) return undefined;
  const type = header !== undefined && accepted.includes(header) ? header : mediaType(header);
  if (type === undefined || !accepted.includes(type))
    throw unsupportedMediaType(ACCEPT_FIELDS[req.method!] ?? 'Accept', accepted);
  return isEmpty ? undefined : { type, coding };
}

/** A media type without its parameters; undefined: its text is not UTF-8. */
function mediaType(header = ''): string | undefined {
  const [type, ...parameters] = header
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset) ? type : undefined;
}

const ACCEPT_FIELDS: Readonly<Record<string, 'Accept-Post' | 'Accept-Patch' | 'Accept-Query'>> = {
  POST: 'Accept-Post',
  PATCH: 'Accept-Patch',
  QUERY: 'Accept-Query',
};

/** The client that sends a body. */
export interface Sender {
  readonly address: string;
  /** Sends 100 Continue if the client waits for it. */
  readonly proceed: () => void;
}

/**
 * Reads the bytes of a body. They are held until the request is done. `sender` is called only if the body did not
 * arrive with its head. Throws 408, 413, 429 and 503.
 */
export async function readBytes(
  req: IncomingMessage,
  res: ServerResponse,
  limits: BodyLimits,
  sender: () => Sender,
  progress: ReceivedBytes,
): Promise<Buffer> {
  if (!hasBody(req)) return NOTHING;
  requireBodySpace(Number(req.headers['content-length'] ?? 0), limits);
  // Most bodies arrive with their head and need no listener. All callers within a tick share the promise of its end.
  tickEnd ??= tick().finally(() => {
    tickEnd = undefined;
  });
  await tickEnd;
  if (!req.complete) return collect(req, res, limits, sender(), progress);
  const bytes = (req.read() as Buffer | null) ?? NOTHING;
  progress.received = bytes.length;
  requireBodySpace(bytes.length, limits);
  BODIES.addUntilClose(res, bytes.length);
  return bytes;
}

let tickEnd: Promise<void> | undefined;

function requireBodySpace(bytes: number, { bodyLimit, bodyBytes }: BodyLimits): void {
  if (bytes > bodyLimit) throw payloadTooLarge(bodyLimit);
  if (!BODIES.fits(bytes, bodyBytes)) throw beyond('bodies');
}

/** Bytes of incomplete bodies by client address (IPv6: by /64). */
const bytesByAddress = new CountsByKey();

let awaited = 0;

/** Requests, in this process, that wait for the rest of their body. */
export const awaitedBodies = (): number => awaited;

/** Reads a body that has not arrived completely. Until it is complete, its bytes count against the limit of its address. */
async function collect(
  req: IncomingMessage,
  res: ServerResponse,
  limits: BodyLimits,
  { address, proceed }: Sender,
  progress: ReceivedBytes,
): Promise<Buffer> {
  const { bodyLimit, bodyBytesPerAddress } = limits;
  const client = clientKey('address', address);
  const requireShare = (bytes: number): void => {
    if (bodyBytesPerAddress > 0 && bytesByAddress.of(client) + bytes > bodyBytesPerAddress)
      throw tooManyOfAddress();
  };
  requireShare(Number(req.headers['content-length'] ?? 0));
  const announced = Number(req.headers['content-length'] ?? bodyLimit);
  const stream = new BodyStream(req, { limits, coding: undefined, proceed, progress });
  // One buffer with room to grow: a body in chunks of one byte would otherwise occupy hundreds of bytes for each.
  let bytes = NOTHING;
  let held = 0;
  awaited++;
  res.once('close', () => BODIES.add(-held));
  try {
    for await (const chunk of stream.read(bodyLimit)) {
      // The close of the response would not be reported again.
      if (res.destroyed) throw new BodyAborted();
      requireBodySpace(chunk.length, limits);
      requireShare(chunk.length);
      BODIES.add(chunk.length);
      bytesByAddress.add(client, chunk.length);
      bytes = withRoom(bytes, held, held + chunk.length, announced);
      chunk.copy(bytes, held);
      held += chunk.length;
    }
    return bytes.subarray(0, held);
  } finally {
    awaited--;
    bytesByAddress.add(client, -held);
    stream.close();
  }
}

/** A buffer with the held bytes and room for those that are needed. */
function withRoom(bytes: Buffer, held: number, needed: number, announced: number): Buffer {
  if (needed <= bytes.length) return bytes;
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(announced, needed * 2)));
  bytes.copy(larger, 0, 0, held);
  return larger;
}

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
  limits: BodyLimits,
): Promise<Buffer> {
  const stream = new BodyStream(res.req, { limits, coding, bytes });
  const decoded = await slots.run(async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream.read(limits.bodyLimit)) chunks.push(chunk);
    return Buffer.concat(chunks);
  });
  stream.close();
  if (decoded === undefined) throw beyond('bodies');
  if (res.destroyed) throw new BodyAborted();
  requireBodySpace(decoded.length, limits);
  BODIES.addUntilClose(res, decoded.length);
  return decoded;
}
