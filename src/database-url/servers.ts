import { isIP } from 'node:net';
import { userInfo } from 'node:os';

/** How a connection to a server is protected. */
export interface TlsRequest {
  /** `prefer`: in plain text if the server has no TLS. */
  readonly mode: 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';
  /** Files in PEM. Without `ca`, the certificate authorities of Node apply. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** One server of a database, and how to log in to it. */
export interface DatabaseServer {
  /** Host and port, or the path of a Unix socket: for messages. */
  readonly name: string;
  /** A name or an IP address, which the server's certificate must have; a folder, for a Unix socket. */
  readonly host: string;
  readonly port: number;
  /** A Unix socket. */
  readonly path: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsRequest;
  /** Settings of each session that the operator has chosen. */
  readonly session: Readonly<Record<string, string>>;
}

/** The servers that a database URL names. */
export interface DatabaseServers {
  /** In order. */
  readonly servers: readonly [DatabaseServer, ...DatabaseServer[]];
  /** Whether only the one that accepts writes may be used. */
  readonly requiresPrimary: boolean;
}

const MAX_HOSTS = 16;

/**
 * The servers of `postgres://user:password@host1:5432,host2:5432/database?parameter=value`. With several hosts, the one
 * that accepts writes is used. Throws DatabaseUrlError.
 */
export function serversOf(url: string): DatabaseServers {
  const parameters = parametersOf(url);
  const hosts = listOf(parameters, 'host') ?? ['localhost'];
  const ports = listOf(parameters, 'port') ?? ['5432'];
  if (hosts.length > MAX_HOSTS) throw new DatabaseUrlError(`there are more than ${MAX_HOSTS} hosts`);
  if (hosts.length > 1 && hosts.includes('')) throw new DatabaseUrlError('a host is empty');
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new DatabaseUrlError('there must be a port for each host');
  const common = commonOf(parameters);
  const servers = hosts.map((host, at) => ({
    ...common,
    ...locationOf(host || 'localhost', portOf(ports[ports.length > 1 ? at : 0]!)),
  }));
  return {
    servers: servers as [DatabaseServer, ...DatabaseServer[]],
    requiresPrimary:
      hosts.length > 1 || ['primary', 'read-write'].includes(parameters.get('target_session_attrs') ?? ''),
  };
}

export const withParameters = (url: string, pairs: readonly string[]): string =>
  pairs.length === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${pairs.join('&')}`;

/** The variables of libpq that set what a URL leaves out. */
const VARIABLES: readonly (readonly [variable: string, parameter: string])[] = [
  ['PGHOST', 'host'],
  ['PGPORT', 'port'],
  ['PGDATABASE', 'dbname'],
  ['PGUSER', 'user'],
  ['PGPASSWORD', 'password'],
  ['PGOPTIONS', 'options'],
  ['PGAPPNAME', 'application_name'],
  ['PGTARGETSESSIONATTRS', 'target_session_attrs'],
  ['PGSSLMODE', 'sslmode'],
  ['PGSSLROOTCERT', 'sslrootcert'],
  ['PGSSLCERT', 'sslcert'],
  ['PGSSLKEY', 'sslkey'],
];

/** The variables of libpq that select a server, a password or a protection in ways that the service lacks. */
const UNSUPPORTED = /^PG(?:HOSTADDR|SERVICE|PASSFILE|REQUIRE|CHANNELBINDING|GSSENCMODE|SSL|MINPROTOCOL)/;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * A URL with the values of libpq's variables for the parameters that it does not set. `skipped` are left out. Throws
 * DatabaseUrlError, with the name of the variable that is at fault.
 */
export function withVariables(url: string, env: Env, skipped: readonly string[] = []): string {
  const parameters = parametersOf(url);
  const names = VARIABLES.map(([variable]) => variable);
  const wrong = Object.keys(env).find((name) => env[name] && UNSUPPORTED.test(name) && !names.includes(name));
  if (wrong !== undefined)
    throw new DatabaseUrlError(
      `the variable ${wrong} is not supported: remove it, or unset it for the service`,
    );
  const added: string[] = [];
  for (const [variable, name] of VARIABLES) {
    const value = env[variable];
    if (!value || parameters.has(name) || skipped.includes(name)) continue;
    const fault = parameterFault(name, value);
    if (fault !== undefined) throw new DatabaseUrlError(`${variable}: ${fault}`);
    added.push(`${name}=${encodeURIComponent(value)}`);
  }
  return withParameters(url, added);
}

/** One line for each variable of libpq that has no effect, since the service uses its embedded database. */
export const ignoredVariables = (env: Env): string[] =>
  VARIABLES.filter(([variable]) => env[variable]).map(
    ([variable]) => `${variable} is ignored: without DATABASE_URL the service uses its embedded database`,
  );

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

function locationOf(host: string, port: number) {
  const path = host.startsWith('/')
    ? `${host.endsWith('/') ? host.slice(0, -1) : host}/.s.PGSQL.${port}`
    : undefined;
  return { name: path ?? (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`), host, port, path };
}

function commonOf(parameters: Parameters) {
  const user = textOf(parameters, 'user') ?? ownName();
  const session = ['options', 'search_path', 'application_name'].flatMap((name) => {
    const value = textOf(parameters, name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    user,
    password: textOf(parameters, 'password') ?? '',
    database: textOf(parameters, 'dbname') ?? user,
    tls: tlsOf(parameters),
    session: Object.fromEntries(session) as Readonly<Record<string, string>>,
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

/** As in libpq, a file of authorities makes `require` verify. */
function tlsOf(parameters: Parameters): TlsRequest {
  const ca = textOf(parameters, 'sslrootcert');
  const named = (textOf(parameters, 'sslmode') ?? 'prefer') as TlsRequest['mode'];
  if (ca === 'system')
    throw new DatabaseUrlError(
      'sslrootcert must be a file: without it, verify-full uses the authorities of Node',
    );
  if (named === 'verify-ca' && ca === undefined)
    throw new DatabaseUrlError(
      'sslmode=verify-ca needs sslrootcert: any server has a certificate of a public authority',
    );
  return {
    mode: named === 'require' && ca !== undefined ? 'verify-ca' : named,
    ca,
    cert: textOf(parameters, 'sslcert'),
    key: textOf(parameters, 'sslkey'),
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

/** A database URL cannot be used. The message says why, and holds no secret. */
export class DatabaseUrlError extends Error {}

/** The parameters of a connection by their names in libpq. */
type Parameters = ReadonlyMap<string, string>;

/** The parameters that accept one of a few values. */
const CHOICES: ReadonlyMap<string, readonly string[]> = new Map([
  ['sslmode', ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']],
  ['target_session_attrs', ['any', 'primary', 'read-write']],
]);

/** The parameters that accept any text. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['host', 'port', 'dbname', 'user', 'password', 'application_name', 'options', 'search_path'],
  ...['sslrootcert', 'sslcert', 'sslkey'],
]);

/** Advice beside the refusal of a parameter that providers or other drivers have. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ['channel_binding', 'set sslmode=verify-full, with which the certificate authenticates the server'],
  ['ssl', 'set sslmode'],
  ['schema', 'search_path selects a schema'],
  ['currentSchema', 'search_path selects a schema'],
  ['connect_timeout', 'DB_TIMEOUT_MS is the limit'],
  ['pgbouncer', 'the service needs a session of PostgreSQL itself'],
]);

const DEFAULT_ADVICE = 'remove it; a setting of the server goes into options=-c%20name%3Dvalue';

/** Why a parameter cannot be used; undefined: it can. */
function parameterFault(name: string, value: string): string | undefined {
  const choices = CHOICES.get(name);
  if (value.includes('\0')) return `the parameter ${name} must not contain U+0000`;
  if (choices)
    return choices.includes(value) ? undefined : `the parameter ${name} must be ${choices.join(' or ')}`;
  const shown = name.length > 40 ? `${name.slice(0, 40)}...` : name;
  return TEXTS.has(name)
    ? undefined
    : `the parameter ${shown} is not supported: ${ADVICE.get(name) ?? DEFAULT_ADVICE}`;
}

/** Whether a name is that of a parameter, so that a message may hold it. */
const isKnown = (name: string): boolean => CHOICES.has(name) || TEXTS.has(name) || ADVICE.has(name);

const SCHEME = /^postgres(?:ql)?:\/\//;

/**
 * The parameters of a URL in libpq's syntax (section 34.1.1.2 of the manual of PostgreSQL 18): the parts before the query,
 * and the pairs of the query, which prevail. Lists of hosts and ports are joined by commas. Throws DatabaseUrlError.
 */
export function parametersOf(url: string): Parameters {
  const [scheme] = SCHEME.exec(url) ?? [];
  if (scheme === undefined) throw new DatabaseUrlError('it must begin with postgres://');
  const [, authority = '', path = '', query = ''] = /^([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(
    url.slice(scheme.length),
  )!;
  const found = new Map<string, string>();
  const set = (name: string, value: string) => {
    if (value !== '') found.set(name, value);
  };
  const at = authority.lastIndexOf('@');
  const [user = '', ...password] = authority.slice(0, Math.max(0, at)).split(':');
  set('user', decode('the user', user));
  set('password', decode('the password', password.join(':')));
  const hosts = authority.slice(at + 1).split(',');
  const split = hosts.map(splitHost);
  if (authority.slice(at + 1) !== '') set('host', split.map(([host]) => host).join(','));
  if (split.some(([, port]) => port !== '')) set('port', split.map(([, port]) => port).join(','));
  set('dbname', decode('the name of the database', path));
  for (const pair of query.split('&').filter((text) => text !== ''))
    addPair(found, pair, query.includes('@'));
  return found;
}

/** `hasAt`: the query may be a part of a password, so that an unknown name is not shown. */
function addPair(found: Map<string, string>, pair: string, hasAt: boolean): void {
  const equals = pair.indexOf('=');
  if (equals < 1) throw new DatabaseUrlError('a parameter has no value: write name=value');
  const name = decode('the name of a parameter', pair.slice(0, equals));
  if (hasAt && !isKnown(name))
    throw new DatabaseUrlError('a parameter is not supported; in a password, write ? as %3F');
  const what = `the parameter ${isKnown(name) ? name : 'with an unknown name'}`;
  const value = decode(what, pair.slice(equals + 1));
  const fault = parameterFault(name, value);
  if (fault !== undefined) throw new DatabaseUrlError(fault);
  found.set(name, value);
}

function splitHost(text: string): [host: string, port: string] {
  const [, address, name = '', port = ''] = /^(?:\[([^[\]]*)\]|([^:[\]]*))(?::([^:]*))?$/.exec(text) ?? [];
  if (address !== undefined && isIP(address) !== 6) throw new DatabaseUrlError('an IPv6 address is invalid');
  if (address === undefined && !/^[^:[\]]*(?::[^:]*)?$/.test(text))
    throw new DatabaseUrlError(
      'the host is invalid: an IPv6 address has brackets; in a password, write @ : / ? % and # as %40 %3A %2F %3F %25 and %23',
    );
  return [address ?? decode('the host', name), port];
}

function decode(what: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DatabaseUrlError(`${what} has a % that is not written as %25`);
  }
}
