import { type LookupAddress, type LookupOptions, promises } from 'node:dns';
import type { ClientRequest, IncomingMessage } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Allowed } from './settings.js';
import { hostOf, mayConnect } from './target-url.js';

/** The response of a target. */
export interface TargetResponse {
  /** Undefined: there was no response. */
  readonly status: number | undefined;
  /** Why there was none: a code of this module or of Node. */
  readonly error: 'ADDRESS_REFUSED' | 'STOPPED' | 'TIMEOUT' | (string & {}) | undefined;
  /** The beginning of the response's body. */
  readonly excerpt: string;
  readonly retryAfter: string | undefined;
}

export interface Sender {
  /** Posts a body once. Never throws: every failure is a TargetResponse. */
  post(url: URL, headers: Readonly<Record<string, string>>, body: string): Promise<TargetResponse>;
  /** Ends attempts in flight with STOPPED, and closes all connections. */
  close(): void;
}

/** Maximum bytes of a response that are read, so that its connection can be reused; the rest of a longer one is cut. */
const MAX_BODY = 16_384;
/** Bytes of it that are stored. */
const EXCERPT = 1024;
const MAX_HEADERS = 16_384;
const IDLE_MS = 4000;

/**
 * Posts to targets with Node's client: it uses no proxy and follows no redirect. The lookup of each connection checks the
 * address to which it connects, so that a name cannot change its meaning in between. `timeoutMs`: from the resolution of the
 * name to the end of the response. `resolve` replaces DNS.
 */
export function openSender(allowed: Allowed, timeoutMs: number, resolve: Resolve = resolveName): Sender {
  const agentOptions = { keepAlive: true, maxFreeSockets: 4, timeout: IDLE_MS };
  const agents = { 'https:': new https.Agent(agentOptions), 'http:': new http.Agent(agentOptions) };
  const lookup = guardedLookup(allowed, resolve);
  const inFlight = new Set<ClientRequest>();

  function once(url: URL, headers: Readonly<Record<string, string>>, body: string): Promise<Tried> {
    const host = hostOf(url);
    if (isIP(host) && !mayConnect(allowed, host, host)) return Promise.resolve({ outcome: failed(REFUSED) });
    const secure = url.protocol === 'https:';
    const { request: open } = secure ? https : http;
    const length = { 'Content-Length': String(Buffer.byteLength(body)) };
    const request = open(url, {
      method: 'POST',
      headers: { ...headers, ...length },
      agent: secure ? agents['https:'] : agents['http:'],
      lookup,
      maxHeaderSize: MAX_HEADERS,
    });
    inFlight.add(request);
    return settle(request, body, timeoutMs).finally(() => inFlight.delete(request));
  }

  return {
    post: async (url, headers, body) => {
      const { outcome, stale } = await once(url, headers, body);
      // The target closed an idle connection just when it was reused: that is not a failure of the target.
      return stale ? (await once(url, headers, body)).outcome : outcome;
    },
    close: () => {
      for (const request of inFlight) request.destroy(coded('STOPPED'));
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

const REFUSED = 'ADDRESS_REFUSED';

interface Tried {
  readonly outcome: TargetResponse;
  readonly stale?: boolean;
}

const failed = (error: string): TargetResponse => ({
  status: undefined,
  error,
  excerpt: '',
  retryAfter: undefined,
});

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function settle(request: ClientRequest, body: string, timeoutMs: number): Promise<Tried> {
  return new Promise((resolve) => {
    let received: IncomingMessage | undefined;
    const timer = setTimeout(() => (received ?? request).destroy(coded('TIMEOUT')), timeoutMs);
    request.on('close', () => clearTimeout(timer));
    request.on('error', (error: { code?: string }) => {
      // The status has arrived; readExcerpt handles the rest.
      if (received) return;
      const stale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      resolve({ outcome: failed(error.code ?? 'FAILED'), stale });
    });
    // 101 would take over the connection; it was not requested.
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      resolve({ outcome: failed('UPGRADE') });
    });
    request.on('response', (response) => {
      received = response;
      void readExcerpt(response).then((excerpt) => {
        const retryAfter = response.headers['retry-after'];
        resolve({ outcome: { status: response.statusCode!, error: undefined, excerpt, retryAfter } });
      });
    });
    request.end(body);
  });
}

/** The status applies once it has arrived: a body that is too long, stalls or breaks off is cut. */
async function readExcerpt(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (bytes < EXCERPT) chunks.push(chunk.subarray(0, EXCERPT - bytes));
      bytes += chunk.length;
      // Leaving the loop closes the connection.
      if (bytes > MAX_BODY) break;
    }
  } catch {
    // The bytes that have arrived are used.
  }
  return Buffer.concat(chunks).toString().replaceAll('\u0000', '\ufffd');
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** A lookup for node:net that returns only permitted addresses. */
export function guardedLookup(allowed: Allowed, resolve: Resolve) {
  return (name: string, options: LookupOptions, callback: LookupCallback): void => {
    resolve(name).then(
      (found) => {
        const host = name.replace(/\.$/, '');
        const wanted = options.family === 4 || options.family === 6 ? options.family : 0;
        const good = found.filter(
          ({ address, family }) => (wanted === 0 || family === wanted) && mayConnect(allowed, host, address),
        );
        if (good.length === 0) callback(coded(found.length > 0 ? REFUSED : 'ENOTFOUND'), '');
        else if (options.all) callback(null, good);
        else callback(null, good[0]!.address, good[0]!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

/** Returns every address of a name. Throws what node:dns throws. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/** `timeout`: milliseconds for each attempt at a name server. */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * Queries DNS, and the operating system, which reads the hosts file, only for names that DNS does not have: its lookups
 * occupy one of few threads, and a name server that does not respond would block all other names.
 */
async function resolveName(name: string): Promise<readonly LookupAddress[]> {
  if (!name.includes('.')) return await fromSystem(name);
  const resolver = new promises.Resolver(RESOLVER);
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = results.flatMap((result, at) =>
    result.status === 'fulfilled'
      ? result.value.map((address) => ({ address, family: at === 0 ? 4 : 6 }))
      : [],
  );
  if (addresses.length > 0) return addresses;
  for (const result of results)
    if (result.status === 'rejected' && result.reason?.code === 'ETIMEOUT') throw result.reason;
  return await fromSystem(name);
}

const fromSystem = (name: string): Promise<LookupAddress[]> =>
  promises.lookup(name, { all: true, verbatim: true });
