import { RE2JS, RE2JSException } from 're2js';
import { PatternError, re2Syntax, TOO_LARGE } from './re2-syntax.js';

/** Steps to build the states of an automaton: their sizes times the classes of characters. Each takes about 0.2 us. */
const MAX_STEPS = 1_000_000;

/**
 * The automaton of a pattern that V8 has compiled. All its states are built now, so that each character of a text is one
 * step to a known state. Throws PatternError.
 */
export function automatonOf(source: string): Pick<RegExp, 'test'> {
  const syntax = re2Syntax(source);
  try {
    const automaton = RE2JS.compile(syntax);
    if (isBuilt(automaton.re2().dfa)) return automaton;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
  }
  throw new PatternError(TOO_LARGE);
}

type Automaton = ReturnType<RE2JS['re2']>['dfa'];

/** Builds all states that a text can lead to. False: they are too many. */
function isBuilt(automaton: Automaton): boolean {
  const END = { character: -1, at: automaton.numClasses };
  const inputs = [...[0, ...automaton.classBounds].map((character, at) => ({ character, at })), END];
  const states = new Set([automaton.start({ context: () => ~0 }, 0)]);
  let steps = 0;
  // States that are added meanwhile are visited as well. A text is compared up to the first match.
  for (const state of states) {
    if (state.isMatch) continue;
    steps += (state.nfaStates.length + 1) * inputs.length;
    if (steps > MAX_STEPS) return false;
    for (const { character, at } of inputs) {
      const next = automaton.step(state, at, character, 0);
      if (next === null) return false;
      states.add(next);
    }
  }
  return true;
}
