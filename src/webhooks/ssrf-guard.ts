import { BlockList, isIP } from 'node:net';
import type { Allowed } from '../config/webhooks.js';

/** IPv4 that is not the public internet (RFC 6890 and its registry), and what clouds answer to from inside. */
const INSIDE_4 = [
  '0.0.0.0/8', //          this network, unspecified
  '10.0.0.0/8', //         private
  '100.64.0.0/10', //      shared by carriers
  '127.0.0.0/8', //        loopback
  '168.63.129.16/32', //   Azure's host
  '169.254.0.0/16', //     link-local, metadata of most clouds
  '172.16.0.0/12', //      private
  '192.0.0.0/24', //       protocol assignments
  '192.0.2.0/24', //       documentation
  '192.88.99.0/24', //     6to4 relays
  '192.168.0.0/16', //     private
  '198.18.0.0/15', //      benchmarks
  '198.51.100.0/24', //    documentation
  '203.0.113.0/24', //     documentation
  '224.0.0.0/4', //        multicast
  '240.0.0.0/4', //        reserved, broadcast
];

/** What of IPv6's global unicast space is not the public internet. */
const INSIDE_6 = [
  '2001::/23', //          protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', //      documentation
  '2002::/16', //          6to4, which holds an IPv4 address
  '3fff::/20', //          documentation
];

const [inside4, inside6, global6, nat64] = [
  listOf(INSIDE_4, 'ipv4'),
  listOf(INSIDE_6, 'ipv6'),
  listOf(['2000::/3'], 'ipv6'),
  listOf(['64:ff9b::/96'], 'ipv6'),
];

/** Whether no delivery may go to an address: it is not the public internet's. What is no address is inside. */
export function isInside(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return inside4.check(address, 'ipv4');
  if (family === 0 || address.includes('%')) return true;
  // Of an IPv4 address written as IPv6, and of one behind NAT64 (RFC 6052), the IPv4 address counts.
  const words = wordsOf(address);
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  if (isMapped || nat64.check(address, 'ipv6')) return inside4.check(follower(words), 'ipv4');
  return !global6.check(address, 'ipv6') || inside6.check(address, 'ipv6');
}

/** Whether a delivery to a host may connect to an address. */
export function mayConnect(allowed: Allowed, host: string, address: string): boolean {
  if (!isInside(address) || allowed.hosts.has(host.toLowerCase())) return true;
  const family = isIP(address);
  return family !== 0 && allowed.networks.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split('/');
    list.addSubnet(address!, Number(bits), family);
  }
  return list;
}

/** The eight 16-bit words of an IPv6 address; URL writes all its notations in one. */
function wordsOf(address: string): number[] {
  const [head = '', rest] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const words = (part: string) =>
    part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16));
  const [first, last] = [words(head), words(rest ?? '')];
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

function follower(words: readonly number[]): string {
  return words
    .slice(6)
    .flatMap((word) => [word >> 8, word & 255])
    .join('.');
}
