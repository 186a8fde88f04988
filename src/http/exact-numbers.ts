import { invalidBody } from '../errors/input-errors.js';
import { inTurns } from '../limits/turn.js';

/** Throws invalidBody for JSON with a number whose value changes when it is read as a double. */
export function requireExactNumbers(text: string): void {
  if (inexactNumbers(text).length > 0) throw inexact();
}

/** Throws the 400 of a number that is not exact, in parts. */
export async function requireExactNumbersInStages(text: string): Promise<void> {
  if ((await inTurns(search(text))).length > 0) throw inexact();
}

const inexact = () => invalidBody('holds a number that does not fit a double', 'number');

/** Whether there may be a number of more than fifteen digits or with an exponent; few bodies have one. */
const SUSPECT = /[\d.]{16}|\d[eE]/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** A number of a text, and where it starts. */
export interface NumberToken {
  readonly start: number;
  readonly token: string;
}

/** The numbers whose value changes when they are read as a double. */
export function inexactNumbers(text: string): readonly NumberToken[] {
  const steps = search(text);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Characters that are checked in one step. */
const STEP = 131_072;

function* search(text: string): Generator<undefined, readonly NumberToken[]> {
  const found: NumberToken[] = [];
  if (!SUSPECT.test(text)) return found;
  let end = STEP;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') at = endOfString(text, at);
    else if (character === '-' || (character >= '0' && character <= '9')) {
      NUMBER.lastIndex = at;
      const token = NUMBER.exec(text)?.[0] ?? character;
      if (isInexact(token)) found.push({ start: at, token });
      at += token.length - 1;
    }
    if (at < end) continue;
    yield;
    end = at + STEP;
  }
  return found;
}

/** The index of the closing quotation mark. A loop, since a regular expression would overflow the stack. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** Digits that a double always holds, in the range of full precision. */
const EXACT_LENGTH = 15;
const [MIN_EXACT, MAX_EXACT] = [1e-290, 1e290];

/** Whether the value of a number in decimal digits changes when it is read as a double. */
export function isInexact(token: string): boolean {
  if (token.length < 16 && !token.includes('e') && !token.includes('E')) return false;
  const value = Math.abs(Number(token));
  if (token.length <= EXACT_LENGTH && value > MIN_EXACT && value < MAX_EXACT) return false;
  return decimal(token) !== decimal(String(Number(token)));
}

/** The canonical form of a number: digits without zeros at either end, and their exponent. */
function decimal(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === '') return text; // Infinity
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  // A loop, since /0+$/ takes quadratic time when the zeros are followed by another digit.
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
