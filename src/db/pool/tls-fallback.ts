import type { DatabaseServer, TlsRequest } from '../../database-url/servers.js';
import type { Connection } from './connection.js';

/** The server refuses the login (SQLSTATE invalid_authorization_specification), as pg_hba.conf does for lack of TLS or for TLS. */
const LOGIN_REFUSED = '28000';

/**
 * How to attempt a server once more after a connection to it could not be opened, as libpq does: with `sslmode=prefer` in
 * plain text after TLS, with `allow` with TLS after plain text. Undefined: not at all, as always with stricter modes.
 */
export function tlsFallback(
  server: DatabaseServer,
  { encryption }: Pick<Connection, 'encryption'>,
  error: Error & { code?: string },
): DatabaseServer | undefined {
  const { mode } = server.tls;
  const isRefused = error.code === LOGIN_REFUSED;
  if (mode === 'prefer' && (encryption === 'handshake' || (encryption === 'encrypted' && isRefused)))
    return withMode(server, 'disable');
  if (mode === 'allow' && isRefused && server.path === undefined) return withMode(server, 'require');
  return undefined;
}

const withMode = (server: DatabaseServer, mode: TlsRequest['mode']): DatabaseServer => ({
  ...server,
  tls: { ...server.tls, mode },
});

/** The error of a second attempt, which also says why the first one failed. It has the code of the second. */
export function errorOfBoth(first: Error, second: Error & { code?: string }, server: DatabaseServer): Error {
  if (first.message === second.message) return second;
  const [before, after] =
    server.tls.mode === 'allow' ? ['in plain text', 'with TLS'] : ['with TLS', 'in plain text'];
  const message = `${second.message} (${after}); ${first.message} (${before})`;
  return Object.assign(new Error(message, { cause: second }), { code: second.code });
}
