import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import {
  badRequest,
  headersTooLarge,
  httpVersionNotSupported,
  methodNotAllowed,
  notImplemented,
  type Problem,
  requestTimeout,
  uriTooLong,
} from './errors.js';
import { followHandshakes } from './http/handshakes.js';
import { isLingering, lingerOnClose } from './http/linger.js';
import { render } from './http/problem.js';
import { ALL_METHODS, MAX_HEADERS, MAX_TARGET } from './http/target.js';
import type { Expectation, Pipeline } from './pipeline.js';

export interface ServerOptions {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly maxConnections: number;
}

/**
 * The listener: what Node's HTTP leaves open of RFC 9112, closed, and everything else handed to the pipeline. With
 * `tls` it speaks HTTPS, and asks for a client's certificate when there are authorities to believe.
 */
export function createHttpServer(
  pipeline: Pipeline,
  options: ServerOptions,
  tls?: SecureContextOptions,
): Server | TlsServer {
  const server = tls ? createTlsServer(tlsSettings(options, tls)) : createServer(settings(options));
  server.maxHeadersCount = 0;
  limitConnections(server, options.maxConnections);
  // Without it, Node drops the answers still owed to a client that has closed its sending half.
  Object.assign(server, { httpAllowHalfOpen: true });
  const take = (expectation: Expectation) => (req: IncomingMessage, res: ServerResponse) => {
    unused.delete(req.socket);
    if (isLingering(req.socket)) req.resume();
    else void pipeline(req, res, expectation);
  };
  server.on('request', take('none'));
  server.on('checkContinue', take('continue'));
  server.on('checkExpectation', take('unknown'));
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => {
    // Node takes its own listener off, and a reset that nobody listens for ends the process.
    socket.on('error', () => socket.destroy());
    answerInTurn(socket as Socket, methodNotAllowed(ALL_METHODS));
  });
  server.on('clientError', (error: ParserError, socket: Duplex) => refuse(error, socket));
  const unused = closeUnused(server);
  return server;
}

/**
 * Closes connections beyond the limit. Node's own would, in a worker of a cluster, give such a connection back to the
 * primary, and one that no worker takes goes round between them without end.
 */
function limitConnections(server: Server | TlsServer, most: number): void {
  let open = 0;
  server.on('connection', (socket: Socket) => {
    if (open >= most) return void socket.destroy();
    open++;
    socket.once('close', () => open--);
  });
}

function settings(options: ServerOptions) {
  return {
    // Our own checks answer in our own form; these bounds are only there to end what goes far beyond.
    maxHeaderSize: 2 * (MAX_HEADERS + MAX_TARGET),
    requireHostHeader: false,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: Math.max(options.requestTimeoutMs, options.headersTimeoutMs),
    keepAliveTimeout: options.keepAliveMs,
    connectionsCheckingInterval: Math.min(options.headersTimeoutMs, 5000),
    noDelay: true,
  };
}

function tlsSettings(options: ServerOptions, tls: SecureContextOptions) {
  return {
    ...settings(options),
    ...tls,
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: options.headersTimeoutMs,
    // A certificate that is not good is none: the connection may have other credentials.
    requestCert: tls.ca !== undefined,
    rejectUnauthorized: false,
  };
}

/** Node does not count a connection that has not sent a byte among the idle ones. Gives those without a request. */
function closeUnused(server: Server | TlsServer): Set<Socket> {
  const encrypted = 'setSecureContext' in server;
  const handshakes = encrypted ? followHandshakes(server) : undefined;
  const unused = new Set<Socket>();
  server.on(encrypted ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  const [closeIdle, closeAll] = [server.closeIdleConnections, server.closeAllConnections];
  server.closeIdleConnections = () => {
    closeIdle.call(server);
    handshakes?.closeIdle();
    for (const socket of unused) if (socket.bytesRead === 0) socket.destroy();
  };
  server.closeAllConnections = () => {
    closeAll.call(server);
    handshakes?.closeAll();
  };
  return unused;
}

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** A message that the parser gives up on: it never becomes a request, so it is answered here. */
function refuse(error: ParserError, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  // Bytes after a request that asked to close: its answer is the last one.
  if (error.code === 'HPE_CLOSED_CONNECTION') return;
  answerInTurn(socket as Socket, problemOf(error));
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

/** Whether a request line, or what came of it, stands where the parser stopped: not just any bytes. */
function startsWithToken({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const from = Math.max(0, bytesParsed - LONGEST_METHOD);
  const line = rawPacket?.toString('latin1', from, bytesParsed + 256) ?? '';
  const start = line.slice(0, bytesParsed - from).search(/[\w!#$%&'*+.^`|~-]*$/);
  return /^[\w!#$%&'*+.^`|~-]+(?: \S+ HTTP\/\d|(?: \S*)?$)/.test(line.slice(start));
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
    if (busy?.req.complete) busy.once('close', attempt);
    // The request that is malformed was answered before that showed: it gets no second answer.
    else if (busy?.headersSent) busy.once('close', () => socket.destroySoon());
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
