import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type IpAddress, isInNetworks, parseIp, parseNetwork } from '../../formats/ip-address.js';
import type { Allowed } from './settings.js';

/** Max characters of a target's URL. */
export const MAX_URL = 2048;

/** Which targets are allowed. */
export interface TargetRules {
  /** Targets may be http. */
  readonly insecure: boolean;
  readonly allowed: Allowed;
}

/**
 * Reads the URL of a target in its WHATWG form, or returns what is wrong with it. An address in it is checked here in any
 * notation; the addresses of a name are checked when the service connects.
 */
export function readTarget(text: string, { insecure, allowed }: TargetRules): URL | string {
  if (text.length > MAX_URL || !URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(insecure && url.protocol === 'http:'))
    return insecure ? 'must be an https or http URL' : 'must be an https URL; INSECURE=webhooks allows http';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  url.hash = '';
  if (url.href.length > MAX_URL) return 'must be a URL';
  const host = hostOf(url);
  if (isIP(host) && !mayConnect(allowed, host, host))
    return `must not be an address of a private network; WEBHOOK_ALLOW=${host} allows it`;
  return url;
}

/** The host in comparable form: an IPv6 address without brackets, a name without a final dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Azure serves metadata and DNS to its machines here. */
const AZURE = parseNetwork('168.63.129.16')!;
/** Global unicast addresses (RFC 4291 section 2.4). */
const GLOBAL_6 = parseNetwork('2000::/3')!;
/** IPv4 addresses behind NAT64 (RFC 6052). */
const NAT64 = parseNetwork('64:ff9b::/96')!;

/** Whether an address is outside the public internet, so that no delivery may go to it. True for other text. */
export function isInside(address: string): boolean {
  const ip = address.includes('%') ? undefined : parseIp(address);
  if (ip === undefined) return true;
  const behindNat = ip instanceof ipaddr.IPv6 && isInNetworks([NAT64], ip);
  return !isPublic(behindNat ? new ipaddr.IPv4(ip.toByteArray().slice(12)) : ip);
}

/** The special ranges are those of the IANA registries (RFC 6890), as ipaddr.js has them. */
function isPublic(ip: IpAddress): boolean {
  if (ip.range() !== 'unicast') return false;
  return ip.kind() === 'ipv4' ? !isInNetworks([AZURE], ip) : isInNetworks([GLOBAL_6], ip);
}

/** Whether a delivery to a host may connect to an address. */
export function mayConnect(allowed: Allowed, host: string, address: string): boolean {
  if (!isInside(address) || allowed.hosts.has(host.toLowerCase())) return true;
  return isInNetworks(allowed.networks, parseIp(address));
}
