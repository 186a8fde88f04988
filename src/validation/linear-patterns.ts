import { testSlowPattern } from './work-limit.js';

/** Ways to match a part of a pattern that still make a linear time. */
const MAX_WAYS = 1000;
/** Comparisons of the other parts, for each length of a part of any length, that still make a linear time. */
const MAX_REPEATED = 128;

/** One character of a pattern without groups, and how often it may occur. */
const ATOM =
  /(?:\\[dDsSwW/.+*?()[\]{}|^$\\-]|\[\^?(?:[^\]\\[]|\\[dDsSwW/.+*?()[\]{}|^$\\-])+\]|[^\\[\](){}|*+?^$])([*+?]|\{\d{1,4}(?:,\d{0,4})?\})?/uy;

/**
 * Whether a pattern obviously takes linear time: anchored at both ends, without groups and alternatives, with at most one
 * part of any length, and few ways to divide a text among the others. These are also short beside a part of any length, since
 * they are compared again for each of its lengths.
 */
export function isLinear(pattern: string): boolean {
  const parts = partsOf(pattern);
  if (parts === undefined) return false;
  let [ways, length, unbounded] = [1, 0, 0];
  for (const [min, max] of parts) {
    if (max === Number.POSITIVE_INFINITY) {
      unbounded++;
      length += min;
    } else {
      ways *= Math.max(1, max - min + 1);
      length += max;
    }
    if (unbounded > 1 || ways > MAX_WAYS) return false;
  }
  return unbounded === 0 || ways * length <= MAX_REPEATED;
}

/** How often each part of a pattern occurs, if it is anchored at both ends, without groups and alternatives. */
function partsOf(pattern: string): [min: number, max: number][] | undefined {
  if (!pattern.startsWith('^') || !pattern.endsWith('$')) return undefined;
  const body = pattern.slice(1, -1);
  const parts: [min: number, max: number][] = [];
  for (let at = 0; at < body.length; at = ATOM.lastIndex) {
    ATOM.lastIndex = at;
    const found = ATOM.exec(body);
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

/** A pattern that is compared within limits of time. */
class SlowPattern {
  readonly #pattern: RegExp;

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
  }

  test(text: string): boolean {
    return testSlowPattern(this.#pattern, text);
  }

  /** The validator uses one object for all patterns with the same text. */
  toString(): string {
    return String(this.#pattern);
  }
}

/** Compiles the text of `pattern` and `patternProperties`. */
export function compilePattern(source: string, flags: string): Pick<RegExp, 'test'> {
  const pattern = new RegExp(source, flags);
  return isLinear(source) ? pattern : new SlowPattern(pattern);
}
