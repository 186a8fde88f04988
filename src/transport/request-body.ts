import type { IncomingMessage, ServerResponse } from 'node:http';
import { payloadTooLarge, unsupportedEncoding, unsupportedMediaType } from '../errors/input-errors.js';
import { beyond } from '../errors/service-errors.js';
import { BODY_CODINGS, type BodyCoding, bodyCoding } from '../http/content-coding.js';
import type { Body } from '../http/request.js';
import { readJson } from '../http/strict-json.js';
import type { Json } from '../json.js';
import { BODIES } from '../limits/byte-budget.js';
import { type BodyLimits, collect, NOTHING, type ReceivedBytes } from './arriving-body.js';

/** Whether the request announces content (RFC 9112 section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || contentLength(req) > 0;
}

function contentLength(req: IncomingMessage): number {
  return Number(req.headers['content-length'] ?? 0);
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

/**
 * Reads the body of a request as one of the `accepted` media types. `read` returns its bytes without their content
 * coding, and `admit` waits until that many bytes may be parsed. Throws 400, 408, 413, 415, 429 or 503.
 */
export function readBody(
  req: IncomingMessage,
  accepted: readonly string[],
  read: (coding: BodyCoding | undefined) => Promise<Buffer>,
  admit: (bytes: number) => Promise<void> | undefined,
): Promise<Body> | undefined {
  const coding = bodyCoding(req.headers['content-encoding']);
  if (coding === 'unknown') throw unsupportedEncoding(BODY_CODINGS);
  const type = mediaType(req, accepted);
  if (!hasBody(req)) return undefined;
  const parse = (bytes: Buffer): Body | Promise<Body> => {
    const value = type === FORM_TYPE ? readForm(bytes) : readJson(bytes);
    return value instanceof Promise
      ? value.then((value) => ({ type, value, bytes }))
      : { type, value, bytes };
  };
  return read(coding).then((bytes) => {
    const admitted = admit(bytes.length);
    return admitted ? admitted.then(() => parse(bytes)) : parse(bytes);
  });
}

/** The media type of forms of pages. */
export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** The names and values of a form, in their order. */
const readForm = (bytes: Buffer): Json => [...new URLSearchParams(bytes.toString('utf8'))];

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
  requireBodySpace(contentLength(req), limits);
  // Most bodies arrive with their head and need no listener.
  await tickEnd();
  if (req.complete) return readComplete(req, res, limits, progress);
  const { address, proceed } = sender();
  return collect(req, res, limits, address, proceed, progress);
}

function requireBodySpace(bytes: number, { bodyLimit, bodyBytes }: BodyLimits): void {
  if (bytes > bodyLimit) throw payloadTooLarge(bodyLimit);
  if (!BODIES.fits(bytes, bodyBytes)) throw beyond('bodies');
}

function readComplete(
  req: IncomingMessage,
  res: ServerResponse,
  limits: BodyLimits,
  progress: ReceivedBytes,
): Buffer {
  const bytes = (req.read() as Buffer | null) ?? NOTHING;
  progress.received = bytes.length;
  requireBodySpace(bytes.length, limits);
  BODIES.addUntilClose(res, bytes.length);
  return bytes;
}

/** The media type of a body, without parameters. Throws 415 for one that is not accepted. */
export function mediaType(req: IncomingMessage, accepted: readonly string[]): string {
  const header = req.headers['content-type'];
  if (header === undefined && !hasBody(req)) return '';
  if (header !== undefined && accepted.includes(header)) return header;
  const [type = '', ...parameters] = (header ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (!accepted.includes(type) || !isUtf8)
    throw unsupportedMediaType(ACCEPT_FIELDS[req.method!] ?? 'Accept', accepted);
  return type;
}

let end: Promise<void> | undefined;

/** Resolves at the end of this tick of the event loop; all callers within a tick share one promise. */
function tickEnd(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = undefined;
      resolve();
    });
  });
  return end;
}
