import { hash } from 'node:crypto';
import { isIP } from 'node:net';

/** Whom something is counted against. */
export type Kind = 'address' | 'account' | 'principal';

/** Longer names are kept by their SHA-256, so that what is remembered of a client is bounded. */
const LONGEST = 64;

/** The key of a count. What a client calls itself cannot be taken for an address, nor for another's hash. */
export function clientKey(kind: Kind, name: string): string {
  const counted = kind === 'address' ? networkOf(name) : name;
  return counted.length <= LONGEST
    ? `${kind} ${counted}`
    : `${kind}# ${hash('sha256', counted, 'base64url')}`;
}

/** An IPv4 address as it is, of an IPv6 address its /64: that is what one client has, not one of 2^64. */
function networkOf(address: string): string {
  if (!address.includes(':') || isIP(address) !== 6) return address;
  const groups = groupsOf(address);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.');
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight groups of a valid IPv6 address (RFC 4291 section 2.2), without its zone. */
function groupsOf(address: string): number[] {
  const zone = address.indexOf('%');
  const bare = hexadecimal(zone < 0 ? address : address.slice(0, zone));
  const [head, tail] = bare.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = tail === undefined ? 0 : 8 - head!.length - tail.length;
  return [...head!, ...new Array<string>(zeros).fill('0'), ...(tail ?? [])].map((group) =>
    Number.parseInt(group, 16),
  );
}

/** An address whose last two groups may be written as an IPv4 address, with them as groups. */
function hexadecimal(address: string): string {
  if (!address.includes('.')) return address;
  const start = address.lastIndexOf(':') + 1;
  const [a, b, c, d] = address.slice(start).split('.').map(Number) as [number, number, number, number];
  return `${address.slice(0, start)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
