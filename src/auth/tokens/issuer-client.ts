import { parseSecureUrl } from '../../config/parsers.js';

/** A request to the authorization server failed: no response in time, one that is too long, or not JSON. */
export class RemoteError extends Error {}

/** `json` is undefined unless the status is 200. */
interface RemoteResponse {
  readonly status: number;
  readonly json: unknown;
}

/** Of a decoded response body. */
const MAX_BYTES = 1_048_576;

/**
 * Requests `url` and reads a JSON response, both until `signal` aborts. Redirects are errors, since their targets are
 * not checked for a secure connection. Throws RemoteError.
 */
export async function requestJson(
  url: string,
  signal: AbortSignal,
  init: RequestInit = {},
): Promise<RemoteResponse> {
  const headers = { Accept: 'application/json', ...(init.headers as Record<string, string> | undefined) };
  try {
    const response = await fetchTwice(url, { ...init, headers, redirect: 'error', signal });
    const { status } = response;
    if (status === 200) return { status, json: JSON.parse(await textOf(response)) };
    await response.body?.cancel();
    return { status, json: undefined };
  } catch (error) {
    throw new RemoteError(`${url}: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Sends a request again if the server closes the connection without a response: it may have been idle, and closed at this moment (RFC
 * 9112 section 9.3.1). All requests to an authorization server from here may be repeated.
 */
async function fetchTwice(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
    if (!CLOSED.includes(code)) throw error;
    return fetch(url, init);
  }
}

/** The codes of errors of a connection that the other side has closed. */
const CLOSED: readonly unknown[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'];

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > MAX_BYTES) throw new RemoteError(`a response of more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** fetch throws `fetch failed` with the reason as its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}

/** A JSON object; undefined for anything else. */
export function objectIn(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** A URI of the issuer's metadata, by RFC 8414 or else OpenID Connect Discovery. Throws RemoteError. */
export async function discover(
  issuer: string,
  member: 'jwks_uri' | 'userinfo_endpoint',
  signal: AbortSignal,
): Promise<string> {
  const failures: string[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      return await uriAt(url, issuer, member, signal);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      failures.push(error.message);
    }
  }
  throw new RemoteError(failures.join('; '));
}

/** RFC 8414 section 3.1 inserts the well-known part before the issuer's path, OpenID Connect appends it. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

/** RFC 8414 section 3.3: metadata of another issuer must not be used. */
async function uriAt(url: string, issuer: string, member: string, signal: AbortSignal): Promise<string> {
  const { status, json } = await requestJson(url, signal);
  if (status !== 200) throw new RemoteError(`${url}: status ${status}`);
  const metadata = objectIn(json);
  if (metadata?.issuer !== issuer) throw new RemoteError(`${url}: metadata of another issuer`);
  const named = metadata[member];
  const uri = typeof named === 'string' ? parseSecureUrl(named) : undefined;
  if (uri === undefined) throw new RemoteError(`${url}: no ${member} over a secure connection`);
  return uri;
}
