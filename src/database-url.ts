/** The servers that a database URL names. */
export interface DatabaseServers {
  /** One URL for each host, in order. */
  readonly urls: readonly [string, ...string[]];
  /** Whether only the one that accepts writes may be used. */
  readonly requiresPrimary: boolean;
}

const SCHEME = /^(postgres(?:ql)?:\/\/)/;
const MAX_HOSTS = 16;
const TARGET = 'target_session_attrs';
/** Values of libpq that mean a server which accepts writes. */
const PRIMARY = ['read-write', 'primary'];

/**
 * The servers of `postgres://user:password@host1:5432,host2:5432/database?target_session_attrs=primary`. With several
 * hosts, the one that accepts writes is used, whether the parameter is present or not. Undefined: the URL is malformed, or
 * requests another target.
 */
export function serversOf(text: string): DatabaseServers | undefined {
  const [, scheme] = SCHEME.exec(text) ?? [];
  if (scheme === undefined) return undefined;
  const [, authority = '', rest = ''] = /^([^/?#]*)(.*)$/s.exec(text.slice(scheme.length))!;
  const at = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(at).split(',');
  // The driver does not read a list of IPv6 addresses.
  const isUnsupported = hosts.length > 1 && hosts.some((host) => host === '' || host.includes('['));
  if (hosts.length > MAX_HOSTS || isUnsupported) return undefined;
  const urls = hosts.map((host) => singleHost(scheme + authority.slice(0, at) + host + rest));
  if (urls.includes(undefined)) return undefined;
  const target = targetOf(scheme + hosts[0] + rest);
  if (target !== undefined && !PRIMARY.includes(target)) return undefined;
  return {
    urls: urls as [string, ...string[]],
    requiresPrimary: hosts.length > 1 || target !== undefined,
  };
}

/** The servers of a URL that has been checked. */
export const knownServers = (url: string): DatabaseServers => {
  const servers = serversOf(url);
  if (!servers) throw new Error('the database URL is malformed');
  return servers;
};

/** The URL for the driver itself, which then looks for the server that accepts writes. */
export function driverUrl(url: string): string {
  const { requiresPrimary } = knownServers(url);
  if (!requiresPrimary || url.includes(`${TARGET}=`)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}${TARGET}=primary`;
}

/** A URL without the parameter that selects a server; undefined: it is malformed. */
function singleHost(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  try {
    // The driver throws on a password with a `%` that is not written as %25.
    decodeURIComponent(text);
  } catch {
    return undefined;
  }
  if (!text.includes(`${TARGET}=`)) return text;
  const url = new URL(text);
  url.searchParams.delete(TARGET);
  return url.href;
}

const targetOf = (text: string): string | undefined =>
  (URL.canParse(text) && new URL(text).searchParams.get(TARGET)) || undefined;
