import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  badRequest,
  headersTooLarge,
  httpVersionNotSupported,
  methodNotAllowed,
  notImplemented,
  type Problem,
  render,
  requestTimeout,
  uriTooLong,
} from './errors.js';
import { lingerOnClose } from './http/linger.js';
import { ALL_METHODS, MAX_HEADERS, MAX_TARGET } from './http/target.js';
import type { Pipeline } from './pipeline.js';

export interface ServerOptions {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly maxConnections: number;
}

/** The listener: what Node's HTTP leaves open of RFC 9112, closed, and everything else handed to the pipeline. */
export function createHttpServer(pipeline: Pipeline, options: ServerOptions): Server {
  const server = createServer({
    // Our own checks answer in our own form; these bounds are only there to end what goes far beyond.
    maxHeaderSize: MAX_HEADERS + MAX_TARGET + 1024,
    requireHostHeader: false,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: Math.max(options.requestTimeoutMs, options.headersTimeoutMs),
    keepAliveTimeout: options.keepAliveMs,
    connectionsCheckingInterval: Math.min(options.headersTimeoutMs, 5000),
    noDelay: true,
  });
  server.maxHeadersCount = 0;
  server.maxConnections = options.maxConnections;
  server.on('request', (req, res) => void pipeline(req, res, 'none'));
  server.on('checkContinue', (req, res) => void pipeline(req, res, 'continue'));
  server.on('checkExpectation', (req, res) => void pipeline(req, res, 'unknown'));
  server.on('connect', (_req, socket) => answerInTurn(socket as Socket, methodNotAllowed(ALL_METHODS)));
  server.on('clientError', (error: ParserError, socket) => refuse(error, socket));
  return server;
}

interface ParserError extends Error {
  readonly code?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** A message that the parser gives up on: it never becomes a request, so it is answered here. */
function refuse(error: ParserError, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  answerInTurn(socket as Socket, problemOf(error));
}

function problemOf(error: ParserError): Problem {
  switch (error.code) {
    case 'HPE_INVALID_METHOD':
      return startsWithToken(error) ? notImplemented('method') : badRequest('The request is malformed.');
    case 'HPE_HEADER_OVERFLOW':
      return error.rawPacket?.includes('\n') ? headersTooLarge(MAX_HEADERS) : uriTooLong(MAX_TARGET);
    case 'HPE_INVALID_VERSION':
      return httpVersionNotSupported();
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimeout();
    default:
      return badRequest('The request is malformed.');
  }
}

/** Whether a request line began where the parser stopped: an unknown method, not just any bytes. */
function startsWithToken({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const line = rawPacket?.toString('latin1', 0, bytesParsed + 256) ?? '';
  const start = line.slice(0, bytesParsed).search(/[\w!#$%&'*+.^`|~-]*$/);
  return /^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/\d/.test(line.slice(start));
}

/** The answer in flight on a connection, where Node keeps it. */
type Busy = Socket & { _httpMessage?: (ServerResponse & { req: IncomingMessage }) | null };

const refused = new WeakSet<Socket>();

/** Writes an answer after those that are owed to earlier, whole requests of the same connection; then closes. */
function answerInTurn(socket: Socket, problem: Problem): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  const attempt = (): void => {
    const busy = (socket as Busy)._httpMessage;
    if (busy?.req.complete && !busy.writableFinished) busy.once('close', attempt);
    else if (busy?.headersSent && !busy.writableFinished) socket.destroy();
    else if (socket.writable) write(socket, problem);
    else socket.destroy();
  };
  attempt();
}

function write(socket: Socket, problem: Problem): void {
  const { status, headers, body } = render(problem, false, '');
  const all = [
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
