type Field = string | string[] | undefined;

/** Whether the client prefers a response without the record: `return=minimal` (RFC 7240 section 4.2). */
export const prefersMinimal = (prefer: Field): boolean =>
  preference(prefer, RETURN)?.toLowerCase() === 'minimal';

/** Whether the client accepts that a part of its request is refused: `handling=lenient` (RFC 7240 section 4.4). */
export const prefersLenient = (prefer: Field): boolean =>
  preference(prefer, HANDLING)?.toLowerCase() === 'lenient';

/** Whether the client prefers a response before the work is done: `respond-async` (RFC 7240 section 4.1). */
export const prefersAsync = (prefer: Field): boolean => preference(prefer, ASYNC) !== undefined;

/** Seconds that the client is willing to wait: `wait=20` (RFC 7240 section 4.3). 0: no such preference. */
export const preferredWait = (prefer: Field): number => Number(preference(prefer, WAIT) ?? 0);

const RETURN = /^\s*return\s*=\s*"?([a-z]+)"?\s*(?:;|$)/i;
const ASYNC = /^\s*respond-async\s*(?:;|$)/i;
const HANDLING = /^\s*handling\s*=\s*"?([a-z]+)"?\s*(?:;|$)/i;
const WAIT = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i;

/** The value of a preference, or the whole of one without a value. If it is repeated, the first applies (section 2). */
function preference(prefer: Field, pattern: RegExp): string | undefined {
  if (prefer === undefined) return undefined;
  const found =
    String(prefer)
      .match(MEMBER)
      ?.find((each) => pattern.test(each)) ?? '';
  const [whole, value = whole] = pattern.exec(found) ?? [];
  return value;
}

/** Text between commas outside quoted strings. */
const MEMBER = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;
