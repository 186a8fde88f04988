import type { DatabaseServer, TlsRequest } from '../../database-url/servers.js';
import type { Connection } from './connection.js';

/** The server refuses a login because of who, from where and how (SQLSTATE invalid_authorization_specification). */
const LOGIN_REFUSED = '28000';
/** The server starts up or shuts down (SQLSTATE cannot_connect_now), whatever the encryption. */
const NOT_NOW = '57P03';

/**
 * How to attempt a server once more after a connection to it could not be opened, as libpq does (PQconnectPoll): with
 * `sslmode=prefer` in plain text after TLS, with `allow` with TLS after plain text, after each error that the server
 * sends before it accepts the login, but one. Undefined: not at all, as always with stricter modes.
 */
export function tlsFallback(
  server: DatabaseServer,
  { encryption, isAuthenticated }: Pick<Connection, 'encryption' | 'isAuthenticated'>,
  error: Error & { code?: string },
): DatabaseServer | undefined {
  const { mode } = server.tls;
  const isRefused = error.name === 'PostgresError' && !isAuthenticated && error.code !== NOT_NOW;
  if (mode === 'prefer' && (encryption === 'handshake' || (encryption === 'encrypted' && isRefused)))
    return withMode(server, 'disable');
  if (mode === 'allow' && isRefused && server.path === undefined) return withMode(server, 'require');
  return undefined;
}

const withMode = (server: DatabaseServer, mode: TlsRequest['mode']): DatabaseServer => ({
  ...server,
  tls: { ...server.tls, mode },
});

/**
 * The error of two attempts, which says why each failed. It has the code of the second one, but if that refuses the login,
 * as pg_hba.conf does for lack of TLS: then the first one has the reason.
 */
export function errorOfBoth(first: Error, second: Error, { tls }: DatabaseServer): Error {
  if (first.message === second.message) return second;
  const [before, after] =
    tls.mode === 'allow' ? ['in plain text', 'with TLS'] : ['with TLS', 'in plain text'];
  const messages = [`${second.message} (${after})`, `${first.message} (${before})`];
  const isFirst = codeOf(second) === LOGIN_REFUSED;
  const message = (isFirst ? messages.reverse() : messages).join('; ');
  return Object.assign(new Error(message, { cause: second }), { code: codeOf(isFirst ? first : second) });
}

const codeOf = (error: Error) => (error as Error & { code?: string }).code;
