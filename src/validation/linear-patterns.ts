/** Comparisons for each character of a text that still make a linear time. */
const MAX_COMPARISONS = 32;

/** One character of a pattern without groups, and how often it may occur. */
const ATOM =
  /(?:\\(?:[dDsSwWtnrvf/.+*?()[\]{}|^$\\]|x[\da-fA-F]{2}|u(?:[\da-cA-CefEF][\da-fA-F]|[dD][0-7])[\da-fA-F]{2}|u\{[\da-fA-F]+\}|[pP]\{\w+(?:=\w+)?\})|\[\^?(?:[^\]\\[]|\\.)+\]|[^\\[\](){}|*+?^$])([*+?]|\{\d{1,6}(?:,\d{0,6})?\})?/suy;

/**
 * How often V8, which goes back and tries again, compares each character of a text with a pattern; undefined: that may not
 * be bounded, or is many times. It is bounded for a pattern without groups and alternatives, with at most one part of any
 * length, and few ways to divide a text among the others. A pattern without `^` begins with a part of any length.
 */
export function comparisonsOf(pattern: string): number | undefined {
  const parts = partsOf(pattern);
  if (parts === undefined) return undefined;
  let [ways, length, long] = [1, 0, pattern.startsWith('^') ? 0 : 1];
  for (const [min, max] of parts) {
    const choices = Math.max(1, max - min + 1);
    if (choices > MAX_COMPARISONS) long++;
    else [ways, length] = [ways * choices, length + max];
  }
  const comparisons = long === 0 ? ways : 1 + ways * length;
  return long > 1 || comparisons > MAX_COMPARISONS ? undefined : comparisons;
}

/** How often each part of a pattern occurs, if the pattern has no groups and alternatives. */
function partsOf(pattern: string): [min: number, max: number][] | undefined {
  const parts: [min: number, max: number][] = [];
  for (let at = pattern.startsWith('^') ? 1 : 0; at < pattern.length; at = ATOM.lastIndex) {
    if (pattern[at] === '$' && at === pattern.length - 1) break;
    ATOM.lastIndex = at;
    const found = ATOM.exec(pattern);
    if (!found) return undefined;
    parts.push(boundsOf(found[1] ?? ''));
  }
  return parts;
}

/** How often a part occurs, at least and at most. */
function boundsOf(quantifier: string): [min: number, max: number] {
  if (quantifier === '?') return [0, 1];
  if (quantifier === '*') return [0, Number.POSITIVE_INFINITY];
  if (quantifier === '+') return [1, Number.POSITIVE_INFINITY];
  const [min = 1, max = min] = (quantifier.match(/\d+/g) ?? []).map(Number);
  return [min, quantifier.endsWith(',}') ? Number.POSITIVE_INFINITY : max];
}
