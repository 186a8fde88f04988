import { isIP } from 'node:net';

/** A database URL cannot be used. The message says why, and holds no secret. */
export class DatabaseUrlError extends Error {}

/** The parameters of a connection by their names in libpq. */
export type Parameters = ReadonlyMap<string, string>;

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
export function parameterFault(name: string, value: string): string | undefined {
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
