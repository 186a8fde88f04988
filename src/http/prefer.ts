/** Whether the client prefers an answer without the record: `return=minimal` (RFC 7240 section 4.2). */
export function prefersMinimal(prefer: string | string[] | undefined): boolean {
  if (prefer === undefined) return false;
  // The first of a repeated preference counts (section 2).
  const wanted = String(prefer)
    .split(',')
    .map((preference) => /^\s*return\s*=\s*"?([a-z]+)"?\s*(?:;|$)/i.exec(preference)?.[1]?.toLowerCase())
    .find((value) => value !== undefined);
  return wanted === 'minimal';
}
