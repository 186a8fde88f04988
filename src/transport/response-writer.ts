import type { ServerResponse } from 'node:http';
import type { Live, Reply } from '../http/reply.js';
import { RESPONSES } from '../limits/byte-budget.js';
import { prepareResponse } from './node-internals.js';

/** A longer body is written separately from its head, and counts as held until its client has read it. */
export const LARGE_BODY_BYTES = 65_536;

/** A reply whose body is known, as text or as bytes in a content coding. */
export interface CompleteReply extends Reply {
  readonly coded?: Buffer;
}

/**
 * Writes a response whose body is known; `common` are the fields of every response. A response to HEAD has no body
 * (RFC 9110 section 9.3.2). Returns the bytes of the body.
 */
export function send(res: ServerResponse, reply: CompleteReply, common: readonly string[]): number {
  const { status, headers } = reply;
  const body = reply.coded ?? reply.body;
  const bytes = body === undefined ? 0 : Buffer.byteLength(body);
  const hasNoContent = status === 204 || status === 304;
  const length = hasNoContent ? NO_FIELDS : ['Content-Length', String(bytes)];
  const sent = hasNoContent || res.req.method === 'HEAD' ? undefined : body;
  const isLarge = bytes > LARGE_BODY_BYTES && sent !== undefined;
  if (isLarge) hold(res, bytes);
  const isAscii = sent === undefined || (typeof sent === 'string' && sent.length === bytes);
  if (
    bytes <= LARGE_BODY_BYTES &&
    prepareResponse(res, status, [common, headers, length], isAscii ? (sent ?? '') : latin1(sent))
  )
    endInTick({ res, body: undefined, isHeld: false });
  else {
    // A flat array, since Node is much slower with an object or with setHeader.
    res.writeHead(status, [...common, ...headers, ...length] as never);
    endInTick({ res, body: sent, isHeld: isLarge });
  }
  return bytes;
}

const NO_FIELDS: readonly string[] = [];

/** A text with one character for each byte of the body in UTF-8. */
const latin1 = (body: string | Buffer): string =>
  (typeof body === 'string' ? Buffer.from(body) : body).toString('latin1');

interface Ending {
  readonly res: ServerResponse;
  readonly body: string | Buffer | undefined;
  readonly isHeld: boolean;
}

let endings: Ending[] = [];

/** Ends the responses of one tick together, at its end: a write alone wakes its client, which is slower for all. */
function endInTick(ending: Ending): void {
  if (endings.push(ending) === 1) setImmediate(endAll);
}

function endAll(): void {
  const all = endings;
  endings = [];
  for (const { res, body, isHeld } of all) {
    res.end(body);
    if (res.writableLength > 0 && !isHeld) hold(res, res.writableLength);
  }
}

/** Counts a body as held until it was sent or its connection is closed. */
function hold(res: ServerResponse, bytes: number): void {
  if (!res.destroyed) RESPONSES.addUntilClose(res, bytes);
}

/** Sends the head of a response of open length at once; the reply writes the rest. */
export function sendLive(res: ServerResponse, reply: Reply, content: Live, common: readonly string[]): void {
  res.writeHead(reply.status, [...common, ...reply.headers] as never);
  res.flushHeaders();
  content.write(res);
}

/** Sends the head of a streamed response alone, in response to HEAD. Node omits Transfer-Encoding if there is no body. */
export function sendHead(res: ServerResponse, reply: Reply, common: readonly string[]): void {
  const encoding = res.useChunkedEncodingByDefault ? ['Transfer-Encoding', 'chunked'] : [];
  res.writeHead(reply.status, [...common, ...reply.headers, ...encoding] as never);
  res.end();
}
