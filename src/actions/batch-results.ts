import { batchResponseTooLarge, outOfResponseMemory } from '../errors.js';
import type { Reply } from '../http/reply.js';
import { fitsResponseMemory, ResponseHold } from '../response-memory.js';

/** Bytes that the response to a batch may have, and those of all responses that the process may hold. */
export interface BatchLimits {
  readonly batchBytes: number;
  readonly answerBytes: number;
}

/** The results of a batch as JSON, counted in bytes while they grow. */
export class BatchResults {
  readonly #texts: string[] = [];
  readonly #memory = new ResponseHold();
  #bytes = 0;

  constructor(readonly limits: BatchLimits) {}

  /** Adds the response to one operation. Throws 413 beyond the limit of a batch, 503 beyond that of the process. */
  add(reply: Reply): void {
    const { batchBytes, answerBytes } = this.limits;
    const text = resultOf(reply);
    const bytes = Buffer.byteLength(text);
    if (this.#bytes + bytes > batchBytes) throw batchResponseTooLarge(batchBytes);
    if (!fitsResponseMemory(bytes, answerBytes)) throw outOfResponseMemory();
    this.#bytes += bytes;
    this.#memory.set(this.#bytes);
    this.#texts.push(text);
  }

  /** The body of the response to the batch. */
  body(): string {
    return `{"results":[${this.#texts.join(',')}]}`;
  }

  /** Releases the memory that is counted; due once, whatever became of the batch. */
  release(): void {
    this.#memory.release();
  }
}

/** JSON goes in as it is, other text as a string. */
function resultOf({ status, headers, body }: Reply): string {
  const fields: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) fields[headers[at]!.toLowerCase()] = headers[at + 1]!;
  const isJson = fields['content-type']?.includes('json') === true;
  const content = body === undefined ? '' : `,"body":${isJson ? body : JSON.stringify(body)}`;
  return `{"status":${status},"headers":${JSON.stringify(fields)}${content}}`;
}
