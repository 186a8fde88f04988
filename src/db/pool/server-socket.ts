import { readFileSync } from 'node:fs';
import net, { isIP } from 'node:net';
import tls from 'node:tls';
import type { DatabaseServer, TlsRequest } from '../../database-url/servers.js';

/** An error with a code that `problemOf` (database-errors.ts) maps. */
export function connectionError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The code of a handshake that fails for other reasons than the network: certificates, versions, files. */
const TLS_FAILED = 'TLS_FAILED';

/** SSLRequest of PostgreSQL's protocol, and the byte with which a server agrees. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const AGREED = 'S'.charCodeAt(0);
const DECLINED = 'N'.charCodeAt(0);

/**
 * A socket to a server of the database, with TLS as its URL requests. The driver (postgres 3.4.9) would wrap the socket
 * into a TLS socket of its own, which a pool could neither discard nor pause; and it listens to errors only while a
 * socket is open, and only some time after it was created. Here both sockets have a listener from their first moment on.
 */
export class ServerSocket {
  /** Resolves when the driver may write its first message; rejects with a connection error. */
  readonly ready: Promise<net.Socket>;
  readonly #raw: net.Socket;
  #secure: tls.TLSSocket | undefined;

  constructor(
    readonly server: DatabaseServer,
    noDelay: boolean,
  ) {
    const { path, host, port } = server;
    this.#raw = withErrorListener(
      path === undefined ? net.connect({ host, port, noDelay }) : net.connect(path),
    );
    this.ready = this.#open();
  }

  /** Bytes received from the server. */
  get received(): number {
    return this.#raw.bytesRead;
  }

  /** Whether the driver has stopped reading, since its rows are not consumed. */
  get isPaused(): boolean {
    return (this.#secure ?? this.#raw).isPaused();
  }

  destroy(): void {
    (this.#secure ?? this.#raw).destroy();
  }

  async #open(): Promise<net.Socket> {
    await next(this.#raw, 'connect');
    const { tls: request, path } = this.server;
    if (path !== undefined || request.mode === 'disable') return this.#raw;
    if (!(await this.#hasTls())) {
      if (request.mode === 'prefer') return this.#raw;
      this.destroy();
      throw connectionError(
        TLS_FAILED,
        `${this.server.name} has no TLS, which sslmode=${request.mode} requires`,
      );
    }
    try {
      this.#secure = withErrorListener(tls.connect(optionsOf(this.server, this.#raw)));
      await next(this.#secure, 'secureConnect');
    } catch (error) {
      this.destroy();
      throw handshakeError(this.server, error as Error & { code?: string });
    }
    return this.#secure;
  }

  /** Requests TLS. Rejects if the server sends more than its response, as an intruder may before TLS begins. */
  async #hasTls(): Promise<boolean> {
    this.#raw.write(TLS_REQUEST);
    const response = (await next(this.#raw, 'data')) as Buffer;
    if (response.length === 1 && response[0] === AGREED) return true;
    if (response.length === 1 && response[0] === DECLINED) return false;
    this.destroy();
    throw connectionError(TLS_FAILED, `${this.server.name} does not respond as a PostgreSQL`);
  }
}

/** Makes errors that no caller waits for harmless: `close` follows each of them. */
function withErrorListener<T extends net.Socket>(socket: T): T {
  const ignore = () => undefined;
  socket.on('error', ignore);
  // The driver removes all listeners when a socket closes.
  socket.once('close', () => process.nextTick(() => socket.on('error', ignore)));
  return socket;
}

/** The argument of the next event of a name. Rejects when the socket fails or closes before. */
function next(socket: net.Socket, event: 'connect' | 'data' | 'secureConnect'): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void): void => {
      socket.off(event, onEvent).off('error', onError).off('close', onClose);
      end();
    };
    const onEvent = (argument: unknown) => settle(() => resolve(argument));
    const onError = (error: Error) => settle(() => reject(error));
    const onClose = () =>
      onError(connectionError('CONNECTION_CLOSED', 'the server closed the connection before it was open'));
    socket.on(event, onEvent).on('error', onError).on('close', onClose);
  });
}

function optionsOf({ tls: request, host }: DatabaseServer, socket: net.Socket): tls.ConnectionOptions {
  const verifies = request.mode === 'verify-ca' || request.mode === 'verify-full';
  return {
    socket,
    host,
    // A server name is never an IP address (RFC 6066 section 3).
    servername: isIP(host) === 0 ? host : '',
    rejectUnauthorized: verifies,
    ...(request.mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...filesOf(request),
  };
}

/** The files are read for each connection, so that renewed ones are used. */
const filesOf = ({ ca, cert, key }: TlsRequest) => ({
  ...(ca === undefined ? {} : { ca: readFileSync(ca) }),
  ...(cert === undefined ? {} : { cert: readFileSync(cert) }),
  ...(key === undefined ? {} : { key: readFileSync(key) }),
});

/** Errors of the network and of this machine's resources, as opposed to those of certificates, versions and files. */
export const NETWORK_ERRORS: ReadonlySet<string> = new Set([
  ...['CONNECTION_CLOSED', 'ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'],
  ...['EHOSTDOWN', 'EHOSTUNREACH', 'ENETDOWN', 'ENETUNREACH', 'ENETRESET', 'EADDRNOTAVAIL'],
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
]);

function handshakeError({ name }: DatabaseServer, error: Error & { code?: string }): Error {
  const { code = '', message } = error;
  return NETWORK_ERRORS.has(code) ? error : connectionError(TLS_FAILED, `TLS to ${name}: ${message.trim()}`);
}
