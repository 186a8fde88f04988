import type { DatabaseServer } from '../../database-url/servers.js';
import type { Connection } from './connection.js';

/** The server refuses a login because of who, from where and how (SQLSTATE invalid_authorization_specification). */
const LOGIN_REFUSED = '28000';
/** The server starts up or shuts down (SQLSTATE cannot_connect_now), whatever the encryption. */
const NOT_NOW = '57P03';

/**
 * How to attempt a server once more after a connection to it could not be opened, as libpq does (PQconnectPoll): with
 * `sslmode=prefer` in plain text after TLS, when the handshake failed or the server refused the session, except when it
 * starts up. Undefined: not at all, as always with stricter modes.
 */
export function tlsFallback(
  server: DatabaseServer,
  { encryption }: Pick<Connection, 'encryption'>,
  error: Error & { code?: string },
): DatabaseServer | undefined {
  const isRefused = error.name === 'PostgresError' && error.code !== NOT_NOW;
  const isFailed = encryption === 'handshake' || (encryption === 'encrypted' && isRefused);
  if (server.tls.mode !== 'prefer' || !isFailed) return undefined;
  return { ...server, tls: { ...server.tls, mode: 'disable' } };
}

/**
 * The error of two attempts, which says why each failed. It has the code of the second one, except when that refuses the
 * login, as pg_hba.conf does for lack of TLS: then the first one has the reason.
 */
export function errorOfBoth(first: Error, second: Error): Error {
  if (first.message === second.message) return second;
  const messages = [`${second.message} (in plain text)`, `${first.message} (with TLS)`];
  const isFirst = codeOf(second) === LOGIN_REFUSED;
  const message = (isFirst ? messages.reverse() : messages).join('; ');
  return Object.assign(new Error(message, { cause: second }), { code: codeOf(isFirst ? first : second) });
}

const codeOf = (error: Error) => (error as Error & { code?: string }).code;
