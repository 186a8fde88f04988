import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { badRequest, httpVersionNotSupported, notImplemented, requestTimeout } from '../errors.js';
import { render } from '../http/problem-body.js';
import { MAX_TARGET } from '../http/router.js';
import { headersTooLarge, uriTooLong } from '../limit-errors.js';
import type { Problem } from '../problem.js';
import type { CounterValue, LabelledMetric } from '../telemetry/instruments.js';
import { lingerOnClose } from './lingering-close.js';
import { MAX_HEADERS } from './request-target.js';

/** What Node's parser tells of a message that it gave up on. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** Counts what is answered without the pipeline, by status. */
export type Refused = LabelledMetric<CounterValue> | undefined;

/** A message that the parser gives up on: it never becomes a request, so it is answered here. */
export function refuse(
  error: ParserError,
  socket: Duplex,
  refused: Refused,
  always: readonly string[],
): void {
  if (!socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  // Bytes after a request that asked to close: its answer is the last one.
  if (error.code === 'HPE_CLOSED_CONNECTION') return;
  respondInOrder(socket as Socket, problemOf(error), refused, always);
}

function problemOf(error: ParserError): Problem {
  switch (error.code) {
    case 'HPE_INVALID_METHOD':
      return startsWithToken(error) ? notImplemented('method') : badRequest('The request is malformed.');
    case 'HPE_HEADER_OVERFLOW':
      return endsInTarget(error) ? uriTooLong(MAX_TARGET) : headersTooLarge(MAX_HEADERS);
    case 'HPE_INVALID_VERSION':
      return error.reason === 'Invalid HTTP version'
        ? httpVersionNotSupported()
        : badRequest('The request is malformed.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimeout();
    default:
      return badRequest('The request is malformed.');
  }
}

/** Whether the parser stopped inside a request line, as far as the last packet shows. */
function endsInTarget({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  return /(?:^|\n)[A-Z-]+ \S*$/.test(rawPacket?.toString('latin1', 0, bytesParsed) ?? '');
}

/** Letters that the parser may have taken for a method before it gave up. */
const LONGEST_METHOD = 32;

const TOKEN_CHARACTER = /[\w!#$%&'*+.^`|~-]/;

/** Whether a request line, or what came of it, stands where the parser stopped: not just any bytes. */
function startsWithToken({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const from = Math.max(0, bytesParsed - LONGEST_METHOD);
  const line = rawPacket?.toString('latin1', from, bytesParsed + 256) ?? '';
  let start = bytesParsed - from;
  while (start > 0 && TOKEN_CHARACTER.test(line[start - 1]!)) start--;
  return /^[\w!#$%&'*+.^`|~-]+(?: \S+ HTTP\/\d|(?: \S*)?$)/.test(line.slice(start));
}

/** The answer in flight on a connection, where Node keeps it; null: there was one. */
export type Busy = Socket & { _httpMessage?: (ServerResponse & { req: IncomingMessage }) | null };

const answered = new WeakSet<Socket>();

/** Writes an answer after those that are owed to earlier, whole requests of the same connection; then closes. */
export function respondInOrder(
  socket: Socket,
  problem: Problem,
  refused: Refused,
  always: readonly string[],
): void {
  if (answered.has(socket)) return;
  answered.add(socket);
  const attempt = (): void => {
    const busy = (socket as Busy)._httpMessage;
    if (busy?.req.complete) busy.once('close', attempt);
    // The request that is malformed was answered before that showed: it gets no second answer.
    else if (busy?.headersSent) busy.once('close', () => socket.destroySoon());
    else if (socket.writable) {
      write(socket, problem, always);
      if (refused) refused.of(String(problem.status)).value++;
    } else socket.destroy();
  };
  attempt();
}

function write(socket: Socket, problem: Problem, always: readonly string[]): void {
  const { status, headers, body } = render(problem, false, '');
  const all = [
    ...always,
    ...headers,
    'Date',
    new Date().toUTCString(),
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Connection',
    'close',
  ];
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < all.length; at += 2) head += `${all[at]}: ${all[at + 1]}\r\n`;
  socket.write(`${head}\r\n${body}`);
  lingerOnClose(socket);
  socket.destroySoon();
}
