import { invalidBody } from '../errors/input-errors.js';
import { turn } from '../limits/turn.js';

/** Throws invalidBody for JSON with a number whose value changes when it is read as a double. */
export function requireExactNumbers(text: string): void {
  if (inexactNumbers(text).length > 0) throw inexact();
}

/** Characters that are checked in one tick. */
const NUMBERS_AT_ONCE = 131_072;

/** Throws the 400 of a number that is not exact, in parts. */
export async function requireExactNumbersInStages(text: string): Promise<void> {
  if (!SUSPECT.test(text)) return;
  for (let from = 0; from < text.length; ) {
    await turn();
    const { found, next } = inexactNumbersIn(text, from, NUMBERS_AT_ONCE);
    if (found.length > 0) throw inexact();
    from = next;
  }
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
  return SUSPECT.test(text) ? inexactNumbersIn(text, 0, text.length).found : [];
}

/** The inexact numbers in a part of a text; `next` is behind a number or a string that crosses the end of the part. */
function inexactNumbersIn(
  text: string,
  from: number,
  length: number,
): { found: NumberToken[]; next: number } {
  const found: NumberToken[] = [];
  const end = Math.min(text.length, from + length);
  let at = from;
  for (; at < end; at++) {
    const character = text[at]!;
    if (character === '"') at = endOfString(text, at);
    else if (character === '-' || (character >= '0' && character <= '9')) {
      NUMBER.lastIndex = at;
      const token = NUMBER.exec(text)?.[0] ?? character;
      if (isInexact(token)) found.push({ start: at, token });
      at += token.length - 1;
    }
  }
  return { found, next: at };
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
