import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { parseIp } from '../ip-address.js';

/** What a count belongs to. */
export type Kind = 'address' | 'account' | 'principal';

/** Longer names are replaced with their SHA-256, so that the memory per client is bounded. */
const MAX_CHARACTERS = 64;

/** The key of a count. A name that a client chooses never equals the key of an address or of another name's hash. */
export function clientKey(kind: Kind, name: string): string {
  const counted = kind === 'address' ? networkOf(name) : name;
  return counted.length <= MAX_CHARACTERS
    ? `${kind} ${counted}`
    : `${kind}# ${hash('sha256', counted, 'base64url')}`;
}

/** An IPv4 address itself, and the /64 of an IPv6 address: one client has all 2^64 addresses of it. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const ip = parseIp(address);
  if (!(ip instanceof ipaddr.IPv6)) return ip?.toString() ?? address;
  const network = ip.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}
