import { rangeNotSatisfiable } from './errors.js';

/** A part of a representation: the offsets of its first byte, and of the byte after its last. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** The state of a representation that a client may have a part of. */
export interface RangeValidators {
  readonly etag: string;
  /** In milliseconds since 1970. */
  readonly modifiedAt: number;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The range that a request asks for (RFC 9110 section 14.2); undefined: the whole, also for several ranges, other units, and an If-Range
 * that does not match. Throws 416.
 */
export function rangeOf(
  range: string | undefined,
  ifRange: string | undefined,
  length: number,
  validators: RangeValidators,
): ByteRange | undefined {
  const [, first = '', last = ''] = RANGE.exec(range?.replaceAll(' ', '') ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (ifRange !== undefined && !isCurrent(ifRange.trim(), validators)) return undefined;
  const from = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const to = first === '' || last === '' ? length : Math.min(length, Number(last) + 1);
  // An end before the beginning is no range.
  if (first !== '' && last !== '' && Number(last) < from) return undefined;
  if (from >= to) throw rangeNotSatisfiable(length);
  return { from, to };
}

/** Whether If-Range names this representation: by its strong ETag, or by the time of its last change. */
function isCurrent(ifRange: string, { etag, modifiedAt }: RangeValidators): boolean {
  if (ifRange.startsWith('"') || ifRange.startsWith('W/')) return ifRange === etag;
  return Date.parse(ifRange) === Math.floor(modifiedAt / 1000) * 1000;
}
