import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Presented } from '../auth/scheme.js';

/** Steps of X-Forwarded-For that are looked at, from the nearest proxy on. */
const MOST_PROXIES = 16;

/**
 * What of a request may carry a credential. Proxies in `trusted` are believed what they say of the client's address
 * and of TLS, by Forwarded (RFC 7239) or else X-Forwarded-For and X-Forwarded-Proto; nobody else is.
 */
export function present(
  req: IncomingMessage,
  body: () => Promise<Buffer>,
  trusted: BlockList | undefined,
): Presented {
  const { socket, headers } = req;
  const peer = plain(socket.remoteAddress ?? '');
  const throughProxy = isTrusted(peer, trusted);
  const steps = throughProxy ? stepsOf(req) : NONE;
  const encrypted = 'encrypted' in socket && socket.encrypted === true;
  const certificate = encrypted ? certificateOf(socket as TLSSocket) : undefined;
  return {
    method: req.method!,
    target: req.url!,
    headers,
    address: throughProxy ? (addressOf(steps, trusted!) ?? peer) : peer,
    secure: encrypted || (throughProxy && steps[0]?.secure === true),
    loopback:
      isLoopback(peer) &&
      !throughProxy &&
      headers['x-forwarded-for'] === undefined &&
      headers.forwarded === undefined,
    certificate: certificate?.thumbprint,
    certificateExpires: certificate?.until,
    body,
  };
}

/** Whether an address is that of a trusted proxy. */
export function isTrusted(address: string, trusted: BlockList | undefined): boolean {
  return trusted !== undefined && contains(trusted, plain(address));
}

interface Step {
  /** Undefined: hidden, or nothing that is an address. */
  readonly address: string | undefined;
  readonly secure: boolean;
}

const NONE: readonly Step[] = [];

/** From the nearest on: the first that is no proxy of ours is the client, whatever came before it. */
function addressOf(steps: readonly Step[], trusted: BlockList): string | undefined {
  const client = steps.find(({ address }) => address === undefined || !contains(trusted, address));
  return client?.address ?? steps.at(-1)?.address;
}

/** What the proxies tell, the nearest first. */
function stepsOf({ headers }: IncomingMessage): Step[] {
  if (headers.forwarded !== undefined) {
    const elements = headers.forwarded.split(',').slice(-MOST_PROXIES).reverse();
    return elements.map((element) => {
      const value = (name: string) =>
        new RegExp(`(?:^|;)\\s*${name}=(?:"([^"]*)"|([^;"\\s]*))`, 'i').exec(element)?.slice(1).find(Boolean);
      return { address: addressIn(value('for') ?? ''), secure: value('proto')?.toLowerCase() === 'https' };
    });
  }
  const proto = listOf(headers['x-forwarded-proto']).at(-1)?.toLowerCase();
  const addresses = listOf(headers['x-forwarded-for']).slice(-MOST_PROXIES).reverse().map(addressIn);
  return (addresses.length > 0 ? addresses : [undefined]).map((address) => ({
    address,
    secure: proto === 'https',
  }));
}

function listOf(field: string | string[] | undefined): string[] {
  if (field === undefined) return [];
  return String(field)
    .split(',')
    .map((part) => part.trim());
}

/** An address without brackets and port. */
function addressIn(text: string): string | undefined {
  const bare = text.trim().replace(/^\[([^\]]*)\](?::\d+)?$/, '$1');
  const address = plain(isIP(bare) ? bare : bare.replace(/:\d+$/, ''));
  return isIP(address) ? address : undefined;
}

/** IPv4 addresses as such, also where the socket takes both families. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

function contains(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

/** What was verified when a connection was made, and until when it holds: milliseconds since 1970. */
interface Verified {
  readonly thumbprint: string;
  readonly until: number;
}

const verified = new WeakMap<Socket, Verified>();

function certificateOf(socket: TLSSocket): Verified | undefined {
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
  // A connection, or a session that is resumed, may outlive the certificate.
  return Date.now() <= found.until ? found : undefined;
}
