/** Whether the client prefers an answer without the record: `return=minimal` (RFC 7240 section 4.2). */
export function prefersMinimal(prefer: string | string[] | undefined): boolean {
  return prefer !== undefined && preference(prefer, RETURN)?.toLowerCase() === 'minimal';
}

/** Seconds that the client would wait for an answer: `wait=20` (RFC 7240 section 4.3); 0 when it says nothing of it. */
export function preferredWait(prefer: string | string[] | undefined): number {
  return prefer === undefined ? 0 : Number(preference(prefer, WAIT) ?? 0);
}

const RETURN = /^\s*return\s*=\s*"?([a-z]+)"?\s*(?:;|$)/i;
const WAIT = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;|$)/i;

/** The first of a repeated preference counts (section 2). */
function preference(prefer: string | string[], pattern: RegExp): string | undefined {
  return (String(prefer).match(MEMBER) ?? [])
    .map((each) => pattern.exec(each)?.[1])
    .find((value) => value !== undefined);
}

/** What is between two commas that are not inside a quoted string. */
const MEMBER = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;
