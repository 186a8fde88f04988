import { batchResponseTooLarge } from '../errors/input-errors.js';
import { beyond } from '../errors/service-errors.js';
import { JSON_TYPE } from '../http/media-types.js';
import type { Reply } from '../http/reply.js';
import { RESPONSES } from '../limits/byte-budget.js';

/** Bytes that the response to a batch may have, and those of all responses that the process may hold. */
export interface BatchLimits {
  readonly batchBytes: number;
  readonly responseBytes: number;
}

/** The results of a batch as JSON, counted in bytes while they grow. */
export class BatchResults {
  readonly #replies: Reply[] = [];
  readonly #texts: string[] = [];
  #bytes = 0;

  constructor(readonly limits: BatchLimits) {}

  /** Adds the response to one operation. Throws 413 beyond the limit of a batch, 503 beyond that of the process. */
  add(reply: Reply): void {
    const { batchBytes, responseBytes } = this.limits;
    const text = resultOf(reply);
    const bytes = Buffer.byteLength(text);
    if (this.#bytes + bytes > batchBytes) throw batchResponseTooLarge(batchBytes);
    if (!RESPONSES.fits(bytes, responseBytes)) throw beyond('responses');
    this.#bytes += bytes;
    RESPONSES.add(bytes);
    this.#replies.push(reply);
    this.#texts.push(text);
  }

  /** The response to the batch. */
  reply(): Reply {
    return batchReply(this.#replies, this.#texts);
  }

  /** Releases the memory; to be called once, also after a failure. */
  release(): void {
    RESPONSES.add(-this.#bytes);
  }
}

/** The reply of a batch, from the replies of its operations, and from their texts if these exist. */
export function batchReply(results: readonly Reply[], texts = results.map(resultOf)): Reply {
  const body = `{"results":[${texts.join(',')}]}`;
  return { status: 200, headers: ['Content-Type', JSON_TYPE], body, results };
}

/** A reply as a part of the batch's: JSON as it is, other text as a string. */
function resultOf({ status, headers, body }: Reply): string {
  const fields: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) fields[headers[at]!.toLowerCase()] = headers[at + 1]!;
  // NDJSON is text: several documents.
  const isJson = /\bjson/.test(fields['content-type'] ?? '');
  const content = body === undefined ? '' : `,"body":${isJson ? body : JSON.stringify(body)}`;
  return `{"status":${status},"headers":${JSON.stringify(fields)}${content}}`;
}
