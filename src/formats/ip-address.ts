import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** A network: its address and the length of its prefix. */
export type Network = readonly [address: IpAddress, prefix: number];

/** An address in any notation, or undefined for other text. An IPv4-mapped address (::ffff:a.b.c.d) becomes IPv4. */
export function parseIp(text: string): IpAddress | undefined {
  const address = parse(text);
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** A network (10.0.0.0/8) or one address, or undefined for other text. */
export function parseNetwork(text: string): Network | undefined {
  const [start = '', bits] = text.split('/');
  const address = parse(start);
  if (address === undefined) return undefined;
  const max = address instanceof ipaddr.IPv4 ? 32 : 128;
  const prefix = bits === undefined ? max : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  return prefix <= max ? [address, prefix] : undefined;
}

/** Whether one of the networks holds an address. IPv6 networks hold IPv4 addresses as mapped ones. */
export function isInNetworks(networks: readonly Network[], address: IpAddress | undefined): boolean {
  return address !== undefined && networks.some((network) => isInNetwork(network, address));
}

function isInNetwork([start, prefix]: Network, address: IpAddress): boolean {
  if (start.kind() === address.kind()) return address.match(start, prefix);
  return address instanceof ipaddr.IPv4 && address.toIPv4MappedAddress().match(start, prefix);
}

/** Whether a text is a loopback address. A mapped one is not; `parseIp` converts it. */
export function isLoopbackAddress(text: string): boolean {
  return parse(text)?.range() === 'loopback';
}

/** Without the zone of an IPv6 address. */
function parse(text: string): IpAddress | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  // ipaddr.js mistakes ::127.0.0.1 for a mapped address, and URL writes it as ::7f00:1.
  const url = family === 6 ? new URL(`http://[${text.split('%', 1)[0]}]`) : undefined;
  return ipaddr.parse(url?.hostname.slice(1, -1) ?? text);
}
