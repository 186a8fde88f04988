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
const MAX_UNITS = 10 ** EXACT_DIGITS;
/** Digits whose division is one unit of work. */
const DIGITS = 8;
/** Work for a comparison of numbers, and for one of their decimal texts. */
const [NUMBER_UNITS, TEXT_UNITS] = [16, 100];

/** Whether a number is a multiple of another, in decimal. */
function isMultiple(value: number, of: number): boolean {
  const [a, b] = [decimalOf(value), decimalOf(of)];
  const exponent = Math.min(a.exponent, b.exponent);
  const [dividend, divisor] = [a, b].map(
    ({ digits, exponent: own }) => digits + '0'.repeat(own - exponent),
  ) as [string, string];
  const length = Math.max(dividend.length, divisor.length);
  spend(TEXT_UNITS + Math.ceil(length / DIGITS));
  if (length <= EXACT_DIGITS) return Number(dividend) % Number(divisor) === 0;
  return BigInt(dividend) % BigInt(divisor) === 0n;
}

/** Powers of ten that a number of JavaScript holds exactly. */
const MAX_POWER = 22;

/**
 * The check whether a number is a multiple of another, in decimal. A number that has no more decimals than the other, and up
 * to fifteen digits, is the closest one to a whole number of the other's last decimals: it needs no texts.
 */
export function multipleOf(of: number): (value: number) => boolean {
  const { digits, exponent } = decimalOf(of);
  const [divisor, power] = [Number(digits), -exponent];
  if (digits.length > EXACT_DIGITS || power < 0 || power > MAX_POWER) return (value) => isMultiple(value, of);
  const factor = Number(`1e${power}`);
  return (value) => {
    spend(NUMBER_UNITS);
    const units = Math.round(value * factor);
    if (Math.abs(units) >= MAX_UNITS) return isMultiple(value, of);
    return units / factor === value && units % divisor === 0;
  };
}

/** `multipleOf` in decimal: the validator's own divides binary fractions, of which 19.99 is no multiple of 0.01. */
export const MULTIPLE_OF: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  compile: multipleOf,
};
