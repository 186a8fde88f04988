import { JSON_TYPE } from '../collection/representation.js';
import type { Reply } from '../http/reply.js';

/** The reply of a batch, from the replies of its operations, and from their texts if these exist. */
export function batchReply(results: readonly Reply[], texts = results.map(resultOf)): Reply {
  const body = `{"results":[${texts.join(',')}]}`;
  return { status: 200, headers: ['Content-Type', JSON_TYPE], body, results };
}

/** A reply as a part of the batch's: JSON as it is, other text as a string. */
export function resultOf({ status, headers, body }: Reply): string {
  const fields: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) fields[headers[at]!.toLowerCase()] = headers[at + 1]!;
  // NDJSON is text: several documents.
  const isJson = /\bjson/.test(fields['content-type'] ?? '');
  const content = body === undefined ? '' : `,"body":${isJson ? body : JSON.stringify(body)}`;
  return `{"status":${status},"headers":${JSON.stringify(fields)}${content}}`;
}
