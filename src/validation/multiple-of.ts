import type { FuncKeywordDefinition } from 'ajv';
import { spend } from './work-limit.js';

/** A number as its decimal digits: `digits` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

/** The shortest decimal text of a number says what its author wrote: 19.99, not its closest binary fraction. */
function decimalOf(value: number): Decimal {
  const [, whole = '0', fraction = '', power = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(
    String(Math.abs(value)),
  )!;
  return { digits: whole + fraction, exponent: Number(power) - fraction.length };
}

/** Digits that a number of JavaScript holds exactly. */
const EXACT_DIGITS = 15;
/** Digits whose division is one unit of work. */
const DIGITS = 8;
/** Work for a comparison of two numbers. */
const UNITS = 100;

/** Whether a number is a multiple of another, in decimal. */
function isMultiple(value: number, b: Decimal): boolean {
  const a = decimalOf(value);
  const exponent = Math.min(a.exponent, b.exponent);
  const [dividend, divisor] = [a, b].map(
    ({ digits, exponent: own }) => digits + '0'.repeat(own - exponent),
  ) as [string, string];
  const length = Math.max(dividend.length, divisor.length);
  spend(UNITS + Math.ceil(length / DIGITS));
  if (length <= EXACT_DIGITS) return Number(dividend) % Number(divisor) === 0;
  return BigInt(dividend) % BigInt(divisor) === 0n;
}

/** The check whether a number is a multiple of another, in decimal. */
export function multipleOf(of: number): (value: number) => boolean {
  const divisor = decimalOf(of);
  return (value) => isMultiple(value, divisor);
}

/** `multipleOf` in decimal: the validator's own divides binary fractions, of which 19.99 is no multiple of 0.01. */
export const MULTIPLE_OF: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  compile: multipleOf,
};
