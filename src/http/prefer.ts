/** Whether the client prefers a response without the record: `return=minimal` (RFC 7240 section 4.2). */
export function prefersMinimal(prefer: string | string[] | undefined): boolean {
  return prefer !== undefined && preference(prefer, RETURN)?.toLowerCase() === 'minimal';
}

/** Whether the client accepts that a part of its request is refused: `handling=lenient` (RFC 7240 section 4.4). */
export function prefersLenient(prefer: string | string[] | undefined): boolean {
  return prefer !== undefined && preference(prefer, HANDLING)?.toLowerCase() === 'lenient';
}

/** Whether the client prefers a response before the work is done: `respond-async` (RFC 7240 section 4.1). */
export function prefersAsync(prefer: string | string[] | undefined): boolean {
  return (String(prefer ?? '').match(MEMBER) ?? []).some((each) => ASYNC.test(each));
}

/** Seconds that the client is willing to wait: `wait=20` (RFC 7240 section 4.3). 0: no such preference. */
export function preferredWait(prefer: string | string[] | undefined): number {
  return prefer === undefined ? 0 : Number(preference(prefer, WAIT) ?? 0);
}

const RETURN = /^\s*return\s*=\s*"?([a-z]+)"?\s*(?:;|$)/i;
const ASYNC = /^\s*respond-async\s*(?:;|$)/i;
const HANDLING = /^\s*handling\s*=\s*"?([a-z]+)"?\s*(?:;|$)/i;
const WAIT = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i;

/** The value of a preference. If it is repeated, the first applies (section 2). */
function preference(prefer: string | string[], pattern: RegExp): string | undefined {
  return (String(prefer).match(MEMBER) ?? [])
    .map((each) => pattern.exec(each)?.[1])
    .find((value) => value !== undefined);
}

/** Text between commas outside quoted strings. */
const MEMBER = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;
