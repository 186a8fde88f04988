import { isIP } from 'node:net';
import { userInfo } from 'node:os';
import { DatabaseUrlError, parametersOf } from './syntax.js';
import { isKnown, type Parameters, parameterFault, variablesIn } from './url-parameters.js';

/** How a connection to a server is protected. */
export interface TlsRequest {
  /** `allow`: with TLS if the server refuses plain text; `prefer`: in plain text if TLS fails. See tls-fallback.ts. */
  readonly mode: 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';
  /** Whether TLS begins at once, without a request of PostgreSQL's protocol. */
  readonly isDirect: boolean;
  readonly hasServerName: boolean;
  /** Files in PEM. Without `ca`, the certificate authorities of Node apply. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly passphrase: string | undefined;
  readonly minVersion: string | undefined;
  readonly maxVersion: string | undefined;
}

/** One server of a database, and how to log in to it. */
export interface DatabaseServer {
  /** Host and port, or the path of a Unix socket: for messages. */
  readonly name: string;
  /** A name or an IP address, which the server's certificate must have; a folder, for a Unix socket. */
  readonly host: string;
  /** The IP address to connect to, if not that of `host`. */
  readonly address: string | undefined;
  readonly port: number;
  /** A Unix socket. */
  readonly path: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsRequest;
  /** Settings of each session that the operator has chosen. */
  readonly session: Readonly<Record<string, string>>;
  /** Seconds of silence before the system probes a connection; 0: never. */
  readonly keepAliveSeconds: number;
}

/** The servers that a database URL names. */
export interface DatabaseServers {
  /** In order. */
  readonly servers: readonly [DatabaseServer, ...DatabaseServer[]];
  /** Whether only the one that accepts writes may be used. */
  readonly requiresPrimary: boolean;
}

const MAX_HOSTS = 16;
const KEEP_ALIVE_S = 60;

/**
 * The servers of `postgres://user:password@host1:5432,host2:5432/database?parameter=value`, with the parameters of libpq.
 * With several hosts, the one that accepts writes is used. Throws DatabaseUrlError.
 */
export function serversOf(url: string): DatabaseServers {
  const parameters = parametersOf(url);
  for (const [name, value] of parameters) {
    const fault = parameterFault(name, value);
    if (fault !== undefined && !isKnown(name) && url.slice(url.indexOf('?')).includes('@'))
      refuse('a parameter is not supported; in a password, write ? as %3F');
    refuse(fault);
  }
  const addresses = listOf(parameters, 'hostaddr');
  const hosts = listOf(parameters, 'host') ?? addresses ?? ['localhost'];
  const ports = listOf(parameters, 'port') ?? ['5432'];
  if (hosts.length > MAX_HOSTS) refuse(`there are more than ${MAX_HOSTS} hosts`);
  if (hosts.length > 1 && hosts.includes('')) refuse('a host is empty');
  if (ports.length > 1 && ports.length !== hosts.length) refuse('there must be a port for each host');
  if (addresses && addresses.length !== hosts.length) refuse('the parameter hostaddr must name each host');
  const common = commonOf(parameters);
  const servers = hosts.map((host, at) => {
    const port = portOf(ports[ports.length > 1 ? at : 0]!);
    return { ...common, ...locationOf(host || 'localhost', port, addresses?.[at] || undefined) };
  });
  return {
    servers: servers as [DatabaseServer, ...DatabaseServer[]],
    requiresPrimary:
      hosts.length > 1 || ['primary', 'read-write'].includes(parameters.get('target_session_attrs') ?? ''),
  };
}

/** A URL for each server, of which none need be the primary. Throws DatabaseUrlError. */
export function eachServer(url: string): { readonly name: string; readonly url: string }[] {
  return serversOf(url).servers.map(({ name, host, port, address }) => {
    const own = [`host=${encodeURIComponent(host)}`, `port=${port}`, `hostaddr=${address ?? ''}`];
    return { name, url: withParameters(url, own) };
  });
}

const withParameters = (url: string, pairs: readonly string[]): string =>
  pairs.length === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${pairs.join('&')}`;

/** The names of the parameters that a URL sets. Throws DatabaseUrlError. */
export const parameterNames = (url: string): string[] => [...parametersOf(url).keys()];

/**
 * A URL with the values of libpq's variables for the parameters that it does not set. `skipped` are left out. Throws
 * DatabaseUrlError, with the name of the variable that is at fault.
 */
export function withVariables(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
  skipped: readonly string[] = [],
): string {
  const parameters = parametersOf(url);
  const added: string[] = [];
  for (const [variable, name, value] of variablesIn(env)) {
    // An address without the name of its host would be another server.
    const isSet = parameters.has(name) || (name === 'hostaddr' && parameters.has('host'));
    if (isSet || skipped.includes(name)) continue;
    const fault = parameterFault(name, value);
    if (fault !== undefined) refuse(`${variable}: ${fault}`);
    added.push(`${name}=${encodeURIComponent(value)}`);
  }
  return withParameters(url, added);
}

function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new DatabaseUrlError(fault);
}

function portOf(text: string): number {
  const port = text === '' ? 5432 : /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535)
    throw new DatabaseUrlError('the port must be a number from 1 to 65535; in a password, write / as %2F');
  return port;
}

/** The value of a parameter; undefined: there is none, or it is empty. */
const textOf = (parameters: Parameters, name: string): string | undefined =>
  parameters.get(name) || undefined;

const listOf = (parameters: Parameters, name: string): string[] | undefined =>
  textOf(parameters, name)?.split(',');

function locationOf(host: string, port: number, address: string | undefined) {
  const path = host.startsWith('/')
    ? `${host.endsWith('/') ? host.slice(0, -1) : host}/.s.PGSQL.${port}`
    : undefined;
  if (address !== undefined && isIP(address) === 0)
    throw new DatabaseUrlError('the parameter hostaddr must be an IP address');
  return {
    name: path ?? (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`),
    host,
    port,
    path,
    address,
  };
}

function commonOf(parameters: Parameters) {
  const user = textOf(parameters, 'user') ?? ownName();
  const name = textOf(parameters, 'application_name') ?? textOf(parameters, 'fallback_application_name');
  const options = textOf(parameters, 'options');
  const path = textOf(parameters, 'search_path');
  const idle = textOf(parameters, 'keepalives_idle');
  return {
    user,
    password: textOf(parameters, 'password') ?? '',
    database: textOf(parameters, 'dbname') ?? user,
    tls: tlsOf(parameters),
    session: {
      ...(options === undefined ? {} : { options }),
      ...(path === undefined ? {} : { search_path: path }),
      ...(name === undefined ? {} : { application_name: name }),
    },
    keepAliveSeconds:
      textOf(parameters, 'keepalives') === '0'
        ? 0
        : /^\d{1,6}$/.test(idle ?? '')
          ? Number(idle) || KEEP_ALIVE_S
          : KEEP_ALIVE_S,
  };
}

/** The name of the user that runs this process. */
function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    throw new DatabaseUrlError('the user is missing, and the user of this process has no name');
  }
}

/** As in libpq, a file of authorities makes `require` verify, and `system` demands `verify-full`. */
function tlsOf(parameters: Parameters): TlsRequest {
  const file = textOf(parameters, 'sslrootcert');
  const named = textOf(parameters, 'sslmode') ?? (file === 'system' ? 'verify-full' : 'prefer');
  const isDirect = textOf(parameters, 'sslnegotiation') === 'direct';
  const isOptional = ['disable', 'allow', 'prefer'].includes(named);
  if (file === 'system' && named !== 'verify-full')
    throw new DatabaseUrlError('sslrootcert=system needs sslmode=verify-full');
  if (named === 'verify-ca' && file === undefined)
    throw new DatabaseUrlError(
      'sslmode=verify-ca needs sslrootcert: any server has a certificate of a public authority',
    );
  if (isDirect && isOptional)
    throw new DatabaseUrlError('sslnegotiation=direct needs sslmode=require or a stricter one');
  const hasCert = textOf(parameters, 'sslcertmode') !== 'disable';
  const mode = named === 'require' && file !== undefined ? 'verify-ca' : named;
  return {
    mode: mode as TlsRequest['mode'],
    isDirect,
    hasServerName: textOf(parameters, 'sslsni') !== '0',
    ca: file === 'system' ? undefined : file,
    cert: hasCert ? textOf(parameters, 'sslcert') : undefined,
    key: hasCert ? textOf(parameters, 'sslkey') : undefined,
    passphrase: textOf(parameters, 'sslpassword'),
    minVersion: textOf(parameters, 'ssl_min_protocol_version'),
    maxVersion: textOf(parameters, 'ssl_max_protocol_version'),
  };
}

export interface Peer {
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

/** The first server of a database URL. */
export function peerOf(databaseUrl: string): Peer {
  const { host, port, database } = serversOf(databaseUrl).servers[0];
  return { host, port, database };
}
