/** Code points from and to, in their order: 48, 57, 97, 102 are those of `[0-9a-f]`. */
type Ranges = readonly number[];

/** A pattern that cannot be compared in linear time. The message says what to write instead. */
export class PatternError extends Error {}

const MAX_CODE_POINT = 0x10ffff;
/** Surrogates are halves of pairs: no text of a body has one alone. */
const [FIRST_SURROGATE, LAST_SURROGATE] = [0xd800, 0xdfff];
/** How often RE2 repeats a part by counts. */
const MAX_COUNT = 1000;
export const TOO_LARGE =
  'needs too many states to take linear time: write "minLength" and "maxLength" instead of counts, or "allOf" of several patterns';

/** The sets of escapes: ECMA-262 section 22.2.2.9. */
const SETS: Readonly<Record<string, Ranges>> = {
  d: [0x30, 0x39],
  w: [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a],
  s: [
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ].flat(),
};
const LINE_ENDS: Ranges = [0x0a, 0x0a, 0x0d, 0x0d, 0x2028, 0x2029];
const CONTROLS: Readonly<Record<string, number>> = { 0: 0, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

const ASSERTION = /\\[bB]/uy;
const MEMBER =
  /(?<pair>\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|\\(?:u\{(?<long>[\da-fA-F]+)\}|u(?<unit>[\da-fA-F]{4})|x(?<byte>[\da-fA-F]{2})|c(?<control>[a-zA-Z])|(?<set>[dDsSwW])|(?<property>[pP]\{[^}]*\})|(?<back>[1-9]|k<)|(?<other>.))|(?<character>.)/suy;
const GROUP = /\((?<kind>\?(?:<?[=!]|:|<[^>]*>|[^:)]*:))?/uy;
const QUANTIFIER = /[*+?]\??|\{(?<min>\d+)(?:(?<comma>,)(?<max>\d*))?\}\??/uy;

/** The groups that no automaton has, and what to write instead. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  '?=': 'has a look-ahead: write "allOf" of several patterns',
  '?!': 'has a negative look-ahead: write "not" with a pattern beside this one',
  '?<=': 'has a look-behind: write "allOf" of several patterns',
  '?<!': 'has a negative look-behind: write "not" with a pattern beside this one',
};

/**
 * The pattern of RE2 that matches the same texts as one of ECMA-262 with the flag `u` (section 22.2.1), which V8 has
 * compiled. Throws PatternError.
 */
export const re2Syntax = (source: string): string => new Translation(source).pattern();

class Translation {
  #at = 0;

  constructor(readonly source: string) {}

  pattern(): string {
    let text = '';
    while (this.#at < this.source.length) text += this.#part();
    return text;
  }

  #part(): string {
    const char = this.source[this.#at]!;
    if (char === '[') return this.#class();
    if (char === '(') return this.#group();
    if ('*+?{'.includes(char)) return this.#quantifier();
    if ('^$|).'.includes(char)) {
      this.#at++;
      return char === '.' ? classOf(complement(LINE_ENDS)) : char;
    }
    return this.#read(ASSERTION)?.[0] ?? classOf(this.#member());
  }

  #read(syntax: RegExp): RegExpExecArray | null {
    syntax.lastIndex = this.#at;
    const found = syntax.exec(this.source);
    if (found) this.#at = syntax.lastIndex;
    return found;
  }

  #class(): string {
    const isNegated = this.source[this.#at + 1] === '^';
    this.#at += isNegated ? 2 : 1;
    const ranges: number[] = [];
    while (this.source[this.#at] !== ']') {
      const first = this.#member();
      const isRange = this.source[this.#at] === '-' && this.source[this.#at + 1] !== ']';
      if (isRange) this.#at++;
      ranges.push(...(isRange ? [first[0]!, this.#member()[1]!] : first));
    }
    this.#at++;
    return classOf(ranges, isNegated);
  }

  /** A character, or an escape that stands for one or for a set. */
  #member(): Ranges {
    const code = codeOf(this.#read(MEMBER)!.groups!);
    if (typeof code !== 'number') return code;
    if (code >= FIRST_SURROGATE && code <= LAST_SURROGATE)
      throw new PatternError('has half of a surrogate pair, which no text has: write the whole character');
    return [code, code];
  }

  #group(): string {
    const kind = this.#read(GROUP)!.groups!.kind ?? '?:';
    const isNamed = kind.startsWith('?<') && kind.endsWith('>');
    if (kind === '?:' || isNamed) return '(?:';
    throw new PatternError(UNSUPPORTED[kind] ?? `has flags, "${kind}": write both cases of a letter, [aA]`);
  }

  #quantifier(): string {
    const [text, min, comma = '', max = ''] = this.#read(QUANTIFIER)!;
    if (min === undefined) return text;
    if (Number(min) > MAX_COUNT || Number(max) > MAX_COUNT) throw new PatternError(TOO_LARGE);
    // RE2 reads leading zeros as characters.
    return `{${Number(min)}${comma}${max && Number(max)}}`;
  }
}

/** The code point of a member, or the ones of its set. */
function codeOf(member: Readonly<Record<string, string | undefined>>): number | Ranges {
  const { long, pair, unit, byte, control, set, property, back, other, character } = member;
  const hexadecimal = long ?? unit ?? byte;
  if (hexadecimal !== undefined) return Number.parseInt(hexadecimal, 16);
  if (pair !== undefined) return (JSON.parse(`"${pair}"`) as string).codePointAt(0)!;
  if (control !== undefined) return control.charCodeAt(0) % 32;
  if (set !== undefined) {
    const ranges = SETS[set.toLowerCase()]!;
    return set === set.toLowerCase() ? ranges : complement(ranges);
  }
  if (property !== undefined) return rangesOf(`\\${property}`);
  if (back !== undefined)
    throw new PatternError('refers back to a group: write "enum", or "anyOf" of several patterns');
  return CONTROLS[other ?? ''] ?? (other ?? character)!.codePointAt(0)!;
}

function complement(ranges: Ranges): Ranges {
  const edges = [-1, ...ranges, MAX_CODE_POINT + 1];
  const found: number[] = [];
  for (let at = 0; at < edges.length; at += 2)
    if (edges[at]! + 1 < edges[at + 1]!) found.push(edges[at]! + 1, edges[at + 1]! - 1);
  return found;
}

/** A class of RE2. An empty one has all code points left out. */
function classOf(ranges: Ranges, isNegated = false): string {
  if (ranges.length === 0) return classOf([0, MAX_CODE_POINT], !isNegated);
  const hex = (at: number) => `\\x{${ranges[at]!.toString(16)}}`;
  let members = '';
  for (let at = 0; at < ranges.length; at += 2)
    members += ranges[at] === ranges[at + 1] ? hex(at) : `${hex(at)}-${hex(at + 1)}`;
  return `[${isNegated ? '^' : ''}${members}]`;
}

/** The surrogates are one block of so many code points. */
const BLOCK = 0x800;
const properties = new Map<string, Ranges>();

/** The code points of the set of an escape, as V8 knows them: its version of Unicode is not the one of other libraries. */
function rangesOf(set: string): Ranges {
  const known = properties.get(set);
  if (known) return known;
  const runs = new RegExp(`${set}+`, 'gu');
  const ranges: number[] = [];
  for (let start = 0; start <= MAX_CODE_POINT; start += BLOCK) {
    if (start === FIRST_SURROGATE) continue;
    const block = String.fromCodePoint(...Array.from({ length: BLOCK }, (_, at) => start + at));
    for (const { 0: run, index } of block.matchAll(runs)) {
      const width = start > 0xffff ? 2 : 1;
      const [from, to] = [start + index / width, start + (index + run.length) / width - 1];
      if (ranges.at(-1) === from - 1) ranges[ranges.length - 1] = to;
      else ranges.push(from, to);
    }
  }
  properties.set(set, ranges);
  return ranges;
}
