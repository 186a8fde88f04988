/** The trace that a request belongs to, and the caller's span in it; lower-case hexadecimal. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
}

const FIELD = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * A `traceparent` field (W3C Trace Context section 3.2), or undefined when it is none: a version that is not allowed,
 * ids that are all zero, anything after a version 00. Of a later version, what this one knows.
 */
export function parseTraceparent(field: string | readonly string[] | undefined): TraceParent | undefined {
  if (typeof field !== 'string' || field.length > MAX_CHARACTERS) return undefined;
  const [, version, traceId, spanId, rest] = FIELD.exec(field) ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return undefined;
  if (version === '00' && rest !== undefined) return undefined;
  return /[^0]/.test(traceId) && /[^0]/.test(spanId) ? { traceId, spanId } : undefined;
}

const MAX_CHARACTERS = 512;
