import type { IncomingMessage } from 'node:http';
import { payloadTooLarge, unsupportedEncoding, unsupportedMediaType } from '../errors.js';
import { readJson } from './json.js';
import type { Body } from './request.js';

/** The client went away while its body was read: there is nobody to answer. */
export class BodyAborted extends Error {}

/** Whether the request announces content (RFC 9112 section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/**
 * Reads the body of a request as one of the media types in `takes`; `read` gives its bytes. Throws 415, 413 or 400.
 */
export async function readBody(
  req: IncomingMessage,
  takes: readonly string[],
  read: () => Promise<Buffer>,
): Promise<Body | undefined> {
  const type = mediaType(req, takes);
  if (!hasBody(req)) return undefined;
  const bytes = await read();
  return { type, value: readJson(bytes), bytes };
}

/**
 * The bytes of a body. `proceed` is called right before the first one is waited for, for a client that asked to
 * be told (Expect: 100-continue), and each piece is counted. Throws 413.
 */
export async function readBytes(
  req: IncomingMessage,
  limit: number,
  proceed: () => void,
  read: Read,
): Promise<Buffer> {
  if (!hasBody(req)) return NOTHING;
  if (Number(req.headers['content-length'] ?? 0) > limit) throw payloadTooLarge(limit);
  proceed();
  return collect(req, limit, read);
}

/** Bytes that were read, counted as they come. */
export interface Read {
  received: number;
}

const NOTHING = Buffer.alloc(0);

function mediaType(req: IncomingMessage, takes: readonly string[]): string {
  const coding = req.headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw unsupportedEncoding();
  const header = req.headers['content-type'];
  if (header === undefined && !hasBody(req)) return '';
  const [type = '', ...parameters] = (header ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  const utf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (!takes.includes(type) || !utf8) throw unsupportedMediaType(FIELDS[req.method ?? ''] ?? 'Accept', takes);
  return type;
}

const FIELDS: Readonly<Record<string, 'Accept-Post' | 'Accept-Patch'>> = {
  POST: 'Accept-Post',
  PATCH: 'Accept-Patch',
};

function collect(req: IncomingMessage, limit: number, read: Read): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => {
      read.received += chunk.length;
      if (read.received > limit) {
        chunks.length = 0;
        // The rest is let through unread: a stopped parser would stop the connection with it.
        req.removeAllListeners('data').resume();
        reject(payloadTooLarge(limit));
      } else chunks.push(chunk);
    });
    req.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    // An error that nobody needs is not made: it would cost as much as reading the body.
    const abort = () => req.complete || reject(new BodyAborted());
    req.once('error', abort).once('close', abort);
  });
}
