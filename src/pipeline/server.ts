import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import { methodNotAllowed } from '../errors/request-errors.js';
import { MAX_TARGET } from '../http/router.js';
import {
  AdmissionControl,
  type AdmissionOptions,
  type Expectation,
  type Run,
} from '../transport/admission-control.js';
import { acceptBeforeReading } from '../transport/connections.js';
import { closeEmptyBody } from '../transport/node-internals.js';
import {
  type ParserError,
  type Refused,
  respondInOrder,
  respondToParseError,
} from '../transport/parse-errors.js';
import { hasBody } from '../transport/request-body.js';
import { ALL_METHODS, MAX_HEADERS } from '../transport/request-target.js';
import { type ConnectionTimeouts, closeStaleConnections } from '../transport/stale-connections.js';
import { trackHandshakes } from '../transport/tls-handshakes.js';

export interface ServerOptions extends AdmissionOptions, ConnectionTimeouts {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Fields of every response, also of those to messages that are not requests. */
  readonly always: readonly string[];
}

/**
 * Creates the listener. It closes the gaps that Node's HTTP server leaves in RFC 9112 and passes requests to the
 * pipeline. With `tls` it serves HTTPS, and requests a client certificate if `tls` names authorities. `refused` counts
 * the responses that are sent without the pipeline, by status.
 */
export function createHttpServer(
  pipeline: Run,
  options: ServerOptions,
  tls?: SecureContextOptions,
  refused?: Refused,
): Server | TlsServer {
  const server = tls ? createTlsServer(tlsSettings(options, tls)) : createServer(settings(options));
  server.maxHeadersCount = 0;
  // Without it, Node drops the responses that it still owes to a client that has closed its sending half.
  Object.assign(server, { httpAllowHalfOpen: true });
  closeUnusedConnections(server, closeStaleConnections(server, options));
  const admission = new AdmissionControl(server, options, pipeline, refused);
  const admit = acceptBeforeReading(server, admission.handle);
  const handle = (expectation: Expectation) => (req: IncomingMessage, res: ServerResponse) => {
    if (!hasBody(req)) closeEmptyBody(req);
    admit(req, res, expectation);
  };
  server.on('request', handle('none'));
  server.on('checkContinue', handle('continue'));
  server.on('checkExpectation', handle('unknown'));
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => {
    // Node has removed its own listener; a reset without a listener would end the process.
    socket.on('error', () => socket.destroy());
    respondInOrder(socket as Socket, methodNotAllowed(ALL_METHODS), refused, options.always);
  });
  server.on('clientError', (error: ParserError, socket: Duplex) =>
    respondToParseError(error, socket, refused, options.always),
  );
  return server;
}

function settings(options: ServerOptions) {
  return {
    // The service's own, lower limits respond in its own format; these end what is far beyond them.
    maxHeaderSize: 2 * (MAX_HEADERS + MAX_TARGET),
    requireHostHeader: false,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: Math.max(options.requestTimeoutMs, options.headersTimeoutMs),
    // Sent to clients as a hint; closeStaleConnections applies it.
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
    // A connection with an invalid certificate may still present other credentials.
    requestCert: tls.ca !== undefined,
    rejectUnauthorized: false,
  };
}

/**
 * Makes the server's methods that close connections include those that Node does not track: connections without a
 * request, and those in a TLS handshake. `connections`: those that are open.
 */
function closeUnusedConnections(server: Server | TlsServer, connections: ReadonlyMap<Socket, unknown>): void {
  const handshakes = 'setSecureContext' in server ? trackHandshakes(server) : [];
  const [closeIdle, closeAll] = [server.closeIdleConnections, server.closeAllConnections];
  server.closeIdleConnections = () => {
    closeIdle.call(server);
    for (const socket of [...connections.keys(), ...handshakes]) if (socket.bytesRead === 0) socket.destroy();
  };
  server.closeAllConnections = () => {
    closeAll.call(server);
    for (const socket of handshakes) socket.destroy();
  };
}
