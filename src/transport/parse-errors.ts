import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Problem } from '../errors/problem.js';
import {
  badRequest,
  headersTooLarge,
  httpVersionNotSupported,
  notImplemented,
  requestTimeout,
  uriTooLong,
} from '../errors/request-errors.js';
import { render } from '../http/problem-body.js';
import { MAX_TARGET } from '../http/router.js';
import type { CounterValue, LabelledMetric } from '../telemetry/instruments.js';
import { lingerOnClose } from './connections.js';
import { responseInFlight } from './node-internals.js';
import { MAX_HEADERS } from './request-target.js';

/** The report of Node's parser about a message that it rejects. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** Counts responses that are sent without the pipeline, by status. */
export type Refused = LabelledMetric<CounterValue> | undefined;

/** Responds to a message that the parser rejects and that therefore never becomes a request. */
export function respondToParseError(
  error: ParserError,
  socket: Duplex,
  refused: Refused,
  always: readonly string[],
): void {
  if (!socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  // Bytes after a request with `Connection: close`: its response is the last one.
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

/** Characters that the parser may have read as a method before it rejected the message. */
const MAX_METHOD = 32;

const TOKEN_CHARACTER = /[\w!#$%&'*+.^`|~-]/;

/** Whether the parser stopped in a request line, or in the beginning of one, and not in arbitrary bytes. */
function startsWithToken({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const from = Math.max(0, bytesParsed - MAX_METHOD);
  const line = rawPacket?.toString('latin1', from, bytesParsed + 256) ?? '';
  let start = bytesParsed - from;
  while (start > 0 && TOKEN_CHARACTER.test(line[start - 1]!)) start--;
  return /^[\w!#$%&'*+.^`|~-]+(?: \S+ HTTP\/\d|(?: \S*)?$)/.test(line.slice(start));
}

const closing = new WeakSet<Socket>();

/** Sends a response after those that earlier, complete requests of the connection are owed; then closes it. */
export function respondInOrder(
  socket: Socket,
  problem: Problem,
  refused: Refused,
  always: readonly string[],
): void {
  if (closing.has(socket)) return;
  closing.add(socket);
  const attempt = (): void => {
    const inFlight = responseInFlight(socket);
    if (inFlight?.req.complete) inFlight.once('close', attempt);
    // The malformed request was responded to before its end was read: it gets no second response.
    else if (inFlight?.headersSent) inFlight.once('close', () => socket.destroySoon());
    else if (socket.writable) {
      write(socket, problem, always);
      if (refused) refused.of(String(problem.status)).value++;
    } else socket.destroy();
  };
  attempt();
}

function write(socket: Socket, problem: Problem, always: readonly string[]): void {
  socket.write(lastResponse(problem, always));
  lingerOnClose(socket);
  socket.destroySoon();
}

/** A response that is written without Node's HTTP classes, and after which its connection is closed. */
export function lastResponse(problem: Problem, always: readonly string[]): string {
  const { status, headers, body } = render(problem, '');
  const date = ['Date', new Date().toUTCString()];
  const length = ['Content-Length', String(Buffer.byteLength(body))];
  const fields = [...always, ...headers, ...date, ...length, 'Connection', 'close'];
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${head}\r\n${body}`;
}
