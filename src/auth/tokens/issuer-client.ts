/** What was asked for could not be had: no answer, none in time, too long a one, or not JSON. */
export class RemoteError extends Error {}

/** An answer of the authorization server; `json` is undefined unless the status is 200. */
export interface RemoteAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Bytes of an answer, as they are once decoded. */
const MAX_BYTES = 1_048_576;

/**
 * Asks `url` and reads an answer of JSON, both until `signal` aborts. A redirect is not followed: it may lead where
 * nobody has looked whether the connection is safe. Throws RemoteError.
 */
export async function ask(url: string, signal: AbortSignal, init: RequestInit = {}): Promise<RemoteAnswer> {
  const headers = { Accept: 'application/json', ...(init.headers as Record<string, string> | undefined) };
  try {
    const response = await fetch(url, { ...init, headers, redirect: 'error', signal });
    const { status } = response;
    if (status === 200) return { status, json: JSON.parse(await textOf(response)) };
    await response.body?.cancel();
    return { status, json: undefined };
  } catch (error) {
    throw new RemoteError(`${url}: ${reasonOf(error)}`, { cause: error });
  }
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > MAX_BYTES) throw new RemoteError(`an answer of more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** fetch tells what happened in the cause of a `fetch failed`. */
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
