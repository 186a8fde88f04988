import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import { methodNotAllowed } from '../errors.js';
import type { Reply } from '../http/reply.js';
import { MAX_TARGET } from '../http/router.js';
import { acceptBeforeReading } from '../transport/accept-backlog.js';
import { type AdmissionOptions, createAdmission, ready, turnAway } from '../transport/admission-control.js';
import { type ConnectionLimits, limitConnections } from '../transport/connection-limits.js';
import { type ConnectionTimeouts, closeStaleConnections } from '../transport/connection-timeouts.js';
import { isLingering, lingerOnClose } from '../transport/lingering-close.js';
import { type ParserError, type Refused, refuse, respondInOrder } from '../transport/parse-errors.js';
import { inRequestOrder } from '../transport/pipelined-requests.js';
import { closeEmpty, hasUnknownLength } from '../transport/request-body.js';
import { ALL_METHODS, MAX_HEADERS } from '../transport/request-target.js';
import { followHandshakes } from '../transport/tls-handshakes.js';
import type { Expectation } from './context.js';
import type { Pipeline } from './pipeline.js';

export interface ServerOptions extends AdmissionOptions, ConnectionLimits, ConnectionTimeouts {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Fields of every response, also to what is not a request. */
  readonly always: readonly string[];
}

/**
 * The listener: what Node's HTTP leaves open of RFC 9112, closed, and everything else handed to the pipeline. With
 * `tls` it speaks HTTPS, and asks for a client's certificate when there are authorities to believe.
 * `refused` counts what is answered without the pipeline, by status.
 */
export function createHttpServer(
  pipeline: Pipeline,
  options: ServerOptions,
  tls?: SecureContextOptions,
  refused?: Refused,
): Server | TlsServer {
  const server = tls ? createTlsServer(tlsSettings(options, tls)) : createServer(settings(options));
  server.maxHeadersCount = 0;
  // Without it, Node drops the answers still owed to a client that has closed its sending half.
  Object.assign(server, { httpAllowHalfOpen: true });
  closeStaleConnections(server, options);
  const admit = acceptBeforeReading(server, admitting(pipeline, server, options, refused));
  const take = (expectation: Expectation) => (req: IncomingMessage, res: ServerResponse) => {
    unused.delete(req.socket);
    closeEmpty(req);
    admit(req, res, expectation);
  };
  server.on('request', take('none'));
  server.on('checkContinue', take('continue'));
  server.on('checkExpectation', take('unknown'));
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => {
    // Node takes its own listener off, and a reset that nobody listens for ends the process.
    socket.on('error', () => socket.destroy());
    respondInOrder(socket as Socket, methodNotAllowed(ALL_METHODS), refused, options.always);
  });
  server.on('clientError', (error: ParserError, socket: Duplex) =>
    refuse(error, socket, refused, options.always),
  );
  const unused = closeUnused(server);
  return server;
}

const TOO_MANY_CONNECTIONS = ready('There are too many connections.');
const TOO_MANY_WAITING = ready('Too many requests wait on this connection.');

/** Runs those requests that there is room for, and answers the others 503. */
function admitting(pipeline: Pipeline, server: Server | TlsServer, options: ServerOptions, refused: Refused) {
  /** Gives an answer that is the last of its connection. */
  const sendAway =
    (reply: Reply) => (req: IncomingMessage, res: ServerResponse, expectation: Expectation) => {
      closeAfter(req.socket, res);
      turnAway(req, res, expectation === 'continue', reply, options.common);
      if (refused) refused.of('503').value++;
    };
  const connections = limitConnections(server, options);
  const admission = createAdmission(options);
  const begin = (req: IncomingMessage, res: ServerResponse, expectation: Expectation): void => {
    const { socket } = req;
    if (isLingering(socket)) return void req.resume();
    if (connections.isSurplus(socket)) return sendAway(TOO_MANY_CONNECTIONS)(req, res, expectation);
    if (connections.isLast(socket) || hasUnknownLength(req)) closeAfter(socket, res);
    if (admission.begin(req, res, expectation === 'continue'))
      pipeline(req, res, expectation, () => admission.end(req, res));
    else if (refused) refused.of('503').value++;
  };
  return inRequestOrder(begin, sendAway(TOO_MANY_WAITING));
}

function closeAfter(socket: Socket, res: ServerResponse): void {
  res.shouldKeepAlive = false;
  lingerOnClose(socket);
}

function settings(options: ServerOptions) {
  return {
    // Our own checks answer in our own form; these bounds are only there to end what goes far beyond.
    maxHeaderSize: 2 * (MAX_HEADERS + MAX_TARGET),
    requireHostHeader: false,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: Math.max(options.requestTimeoutMs, options.headersTimeoutMs),
    // Told to clients; who is idle is found by sweepConnections.
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
