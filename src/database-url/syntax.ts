import { isIP } from 'node:net';
import { isKnown, type Parameters } from './url-parameters.js';

/** A database URL cannot be used. The message says why, and holds no secret. */
export class DatabaseUrlError extends Error {}

const SSL: Readonly<Record<string, string>> = { __proto__: null as never, true: 'require', false: 'disable' };

const SCHEME = /^postgres(?:ql)?:\/\//;

/**
 * The parameters of a URL, as in libpq's own syntax (section 34.1.1.2 of the manual of PostgreSQL 18): those of its parts, and
 * those of its query, which prevail. Lists of hosts and ports are joined by commas. Throws DatabaseUrlError.
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
  for (const pair of query.split('&').filter((text) => text !== '')) addPair(found, pair);
  return found;
}

function addPair(found: Map<string, string>, pair: string): void {
  const equals = pair.indexOf('=');
  if (equals < 1) throw new DatabaseUrlError('a parameter has no value: write name=value');
  const name = decode('the name of a parameter', pair.slice(0, equals));
  const value = decode(
    `the parameter ${isKnown(name) ? name : 'with an unknown name'}`,
    pair.slice(equals + 1),
  );
  // Of JDBC, and of libpq for its sake.
  if (name === 'ssl') found.set('sslmode', SSL[value] ?? value);
  else found.set(name, value);
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
