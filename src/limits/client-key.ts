import { hash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { parseIp } from '../formats/ip-address.js';

/** The owner of a count: `address` and `site` are named by an address, of which IPv6 counts by /64 and by /56. */
export type CountKind = 'address' | 'site' | 'account' | 'principal';

/** Longer names are replaced with their SHA-256, so that the memory per client is bounded. */
const MAX_CHARACTERS = 64;

/** The key of a count. A name that a client chooses never equals the key of an address or of another name's hash. */
export function clientKey(kind: CountKind, name: string): string {
  const counted = kind === 'address' || kind === 'site' ? networkOf(name, kind) : name;
  return counted.length <= MAX_CHARACTERS
    ? `${kind} ${counted}`
    : `${kind}# ${hash('sha256', counted, 'base64url')}`;
}

/**
 * An IPv4 address itself, and a network of an IPv6 address. One client has all 2^64 addresses of a /64, and a customer of a
 * provider has the 256 networks of a /56 (RFC 6177).
 */
function networkOf(address: string, kind: 'address' | 'site'): string {
  if (!address.includes(':')) return address;
  const ip = parseIp(address);
  if (!(ip instanceof ipaddr.IPv6)) return ip?.toString() ?? address;
  const [first, second, third, fourth] = ip.parts;
  const isSite = kind === 'site';
  const network = [first!, second!, third!, isSite ? fourth! & 0xff00 : fourth!];
  return `${network.map((group) => group.toString(16)).join(':')}::/${isSite ? 56 : 64}`;
}
