/** The trace of a request and the caller's span in it, in lower-case hexadecimal. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
}

const FIELD = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * Parses a `traceparent` field (W3C Trace Context section 3.2). Undefined for an invalid one: version ff, ids that are all
 * zero, anything after a version 00. Ignores what later versions add.
 */
export function parseTraceparent(field: string | readonly string[] | undefined): TraceParent | undefined {
  if (typeof field !== 'string' || field.length > MAX_CHARACTERS) return undefined;
  const [, version, traceId, spanId, rest] = FIELD.exec(field) ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return undefined;
  if (version === '00' && rest !== undefined) return undefined;
  return /[^0]/.test(traceId) && /[^0]/.test(spanId) ? { traceId, spanId } : undefined;
}

const MAX_CHARACTERS = 512;
