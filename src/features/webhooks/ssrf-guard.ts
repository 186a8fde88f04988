import ipaddr from 'ipaddr.js';
import { type IpAddress, isInNetworks, parseIp, parseNetwork } from '../../formats/ip-address.js';
import type { Allowed } from './settings.js';

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
