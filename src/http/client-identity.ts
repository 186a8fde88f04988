import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { AuthRequest } from '../auth/scheme.js';
import {
  type IpAddress,
  isInNetworks,
  isLoopbackAddress,
  type Network,
  parseIp,
} from '../formats/ip-address.js';

/** Max hops that are read, from the nearest on. */
const MAX_PROXIES = 16;

/** The header fields in which the operator's proxies name the client. */
export type ProxyHeaders = 'forwarded' | 'x-forwarded';

/** Which proxies are trusted, and by which fields; undefined: none. */
export interface ProxyTrust {
  readonly trustProxy: readonly Network[] | undefined;
  readonly proxyHeaders: ProxyHeaders;
}

/**
 * The parts of a request that authentication uses. Proxies in `trustProxy` report the client's address and TLS in the one
 * family of fields that they write: Forwarded (RFC 7239), or X-Forwarded-For and X-Forwarded-Proto. The other family is
 * ignored, since it may come from the client.
 */
export function readAuthRequest(
  req: IncomingMessage,
  body: () => Promise<Buffer>,
  { trustProxy, proxyHeaders }: ProxyTrust,
): AuthRequest {
  const { socket, headers } = req;
  const { address: peer, isLoopback, isProxy: throughProxy } = peerOf(socket, trustProxy);
  const hops = throughProxy ? hopsOf(req, proxyHeaders) : NONE;
  const encrypted = 'encrypted' in socket && socket.encrypted === true;
  const certificate = encrypted ? certificateOf(socket as TLSSocket) : undefined;
  return {
    method: req.method!,
    target: req.url!,
    headers,
    address: throughProxy ? addressOf(hops, trustProxy!, peer) : peer,
    secure: encrypted || (throughProxy && hops[0]?.secure === true),
    loopback: isLoopback && !throughProxy && !mentionsProxy(req),
    certificate: certificate?.thumbprint,
    certificateExpires: certificate?.until,
    body,
  };
}

/** The other end of a connection. */
interface Peer {
  readonly address: string;
  readonly isLoopback: boolean;
  /** Whether it is a trusted proxy. */
  readonly isProxy: boolean;
}

const peers = new WeakMap<Socket, Peer>();

/** Reads the address of a connection once, since parsing it costs 5 % of a small request. */
function peerOf(socket: Socket, trustProxy: readonly Network[] | undefined): Peer {
  let peer = peers.get(socket);
  if (!peer) {
    const address = plain(socket.remoteAddress ?? '');
    const isProxy = trustProxy !== undefined && isInNetworks(trustProxy, parseIp(address));
    peer = { address, isLoopback: isLoopbackAddress(address), isProxy };
    peers.set(socket, peer);
  }
  return peer;
}

/** Any field of either family applies: a client that forges one only loses what loopback permits. */
function mentionsProxy({ headers }: IncomingMessage): boolean {
  const { 'x-forwarded-for': address, 'x-forwarded-proto': scheme, forwarded, via } = headers;
  return (address ?? scheme ?? forwarded ?? via) !== undefined;
}

/** One proxy's report of the hop before it. */
interface Hop {
  /** Undefined: unknown, hidden, or not an address. */
  readonly address: IpAddress | undefined;
  readonly secure: boolean;
}

const NONE: readonly Hop[] = [];

/** The client is the nearest hop that is not a trusted proxy, or the peer if that hop is unknown. */
function addressOf(hops: readonly Hop[], trusted: readonly Network[], peer: string): string {
  const client = hops.find(({ address }) => !isInNetworks(trusted, address));
  return (client ?? hops.at(-1))?.address?.toString() ?? peer;
}

/** The reports of the proxies, the nearest first. A malformed Forwarded has none. */
function hopsOf({ headers }: IncomingMessage, family: ProxyHeaders): readonly Hop[] {
  if (family === 'forwarded') {
    const elements = parseForwarded(headers.forwarded ?? '', MAX_PROXIES) ?? [];
    return elements.reverse().map((element) => ({
      address: addressIn(element.get('for') ?? ''),
      secure: element.get('proto')?.toLowerCase() === 'https',
    }));
  }
  const secure = lastOf(headers['x-forwarded-proto'], 1)[0]?.toLowerCase() === 'https';
  const addresses = lastOf(headers['x-forwarded-for'], MAX_PROXIES).map(addressIn);
  return (addresses.length > 0 ? addresses : [undefined]).map((address) => ({ address, secure }));
}

/** The parameters of one element of a Forwarded field, by their names in lower case. */
type ForwardedElement = ReadonlyMap<string, string>;

/**
 * A parameter, or none, and the separator behind it (RFC 7239 section 4, RFC 9110 section 5.6.4). Values without quotes may
 * contain the colons and brackets of an address.
 */
const PARAMETER = /[ \t]*(?:([^",;=\\ \t]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;=\\ \t]*))[ \t]*)?(?:([;,])|$)/y;

/** Parses a Forwarded field in one pass and returns its last `max` elements in their order, or undefined for a malformed field. */
function parseForwarded(field: string, max: number): ForwardedElement[] | undefined {
  const elements: ForwardedElement[] = [];
  let element = new Map<string, string>();
  PARAMETER.lastIndex = 0;
  for (let separator: string | undefined = ','; separator !== undefined; ) {
    const found: RegExpExecArray | null = PARAMETER.exec(field);
    if (!found) return undefined;
    const name = found[1]?.toLowerCase();
    // A parameter occurs once in an element.
    if (name !== undefined && element.has(name)) return undefined;
    if (name !== undefined) element.set(name, found[2]?.replace(/\\(.)/g, '$1') ?? found[3]!);
    separator = found[4];
    if (separator === ';') continue;
    // RFC 9110 section 5.6.1.2 allows empty elements in a list.
    if (element.size > 0 && elements.push(element) > max) elements.shift();
    element = new Map();
  }
  return elements;
}

/** The last members of a list without quotes, the last first. */
function lastOf(field: string | string[] | undefined, max: number): string[] {
  if (field === undefined) return [];
  return String(field)
    .split(',')
    .slice(-max)
    .reverse()
    .map((part) => part.trim());
}

/** Accepts brackets around the address and a port after it. */
function addressIn(text: string): IpAddress | undefined {
  const bare = text.trim().replace(/^\[([^\]]*)\](?::\d+)?$/, '$1');
  return parseIp(bare) ?? parseIp(bare.replace(/:\d+$/, ''));
}

/** A socket that accepts both families reports IPv4 addresses as mapped ones. */
function plain(address: string): string {
  return address.includes(':') ? (parseIp(address)?.toString() ?? address) : address;
}

/** A verified client certificate; `until` in milliseconds since 1970. */
interface VerifiedCertificate {
  readonly thumbprint: string;
  readonly until: number;
}

const verified = new WeakMap<Socket, VerifiedCertificate>();

function certificateOf(socket: TLSSocket): VerifiedCertificate | undefined {
  if (!socket.authorized) return undefined;
  let found = verified.get(socket);
  if (!found) {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return undefined;
    const { fingerprint256, validTo } = certificate;
    const thumbprint = Buffer.from(fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
    found = { thumbprint, until: Date.parse(validTo) };
    verified.set(socket, found);
  }
  // A connection or a resumed session may outlive the certificate.
  return Date.now() <= found.until ? found : undefined;
}
