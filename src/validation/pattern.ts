import { comparisonsOf } from './linear-patterns.js';
import { spend } from './work-limit.js';

type Matcher = Pick<RegExp, 'test'>;

let automatonOf: (source: string) => Matcher = () => {
  throw new Error('the automata of patterns are not loaded');
};

/** Lets patterns have automata. */
export function useAutomata(make: typeof automatonOf): void {
  automatonOf = make;
}

/** Loads the library of automata, which few services need. */
export async function loadAutomata(): Promise<void> {
  useAutomata((await import('./automaton.js')).automatonOf);
}

/** Work of V8 for each comparison with a character, and of an automaton for each character. */
const [COMPARISON_UNITS, STEP_UNITS] = [0.8, 1];
/** Work of V8 or of an automaton for each text. */
const TEXT_UNITS = 30;

/** A pattern of a declaration. The characters that it compares count as work of the validation. */
class Pattern {
  readonly #matcher: Matcher;
  readonly #units: number;

  /** Throws SyntaxError and PatternError. */
  constructor(readonly source: string) {
    const pattern = new RegExp(source, 'u');
    const comparisons = comparisonsOf(source);
    this.#matcher = comparisons === undefined ? automatonOf(source) : pattern;
    this.#units = comparisons === undefined ? STEP_UNITS : comparisons * COMPARISON_UNITS;
  }

  test(text: string): boolean {
    spend(TEXT_UNITS + text.length * this.#units);
    return this.#matcher.test(text);
  }

  /** The validator uses one object for all patterns with the same text. */
  toString(): string {
    return this.source;
  }
}

const compiled = new Map<string, Pattern>();

/**
 * Compiles the text of `pattern` or `patternProperties`: for V8, or for an automaton if V8 might take more than linear time.
 * Throws SyntaxError and PatternError.
 */
export function compilePattern(source: string): Matcher {
  const known = compiled.get(source) ?? new Pattern(source);
  compiled.set(source, known);
  return known;
}

/** Why a text is no pattern that can be compiled. */
export function faultOfPattern(source: string): string | undefined {
  try {
    compilePattern(source);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Work for a character of a regular expression: V8 looks up all characters of each `\p{L}`. */
const SYNTAX_UNITS = 1600;

/** The format `regex`. */
export function isRegularExpression(text: string): boolean {
  spend(text.length * SYNTAX_UNITS);
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}
