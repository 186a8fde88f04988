import { PROBLEM_TYPE } from './media-types.js';

interface Range {
  readonly type: string;
  readonly subtype: string;
  /** Has parameters, like `text/html;level=1`: it matches, but is less specific than the bare type. */
  readonly narrowed: boolean;
  readonly q: number;
}

/** Maximum ranges of a header that are read. */
const MAX_RANGES = 64;

/**
 * The offer that the Accept header prefers (RFC 9110 section 12.5.1). The first offer wins among equals, and without a
 * header. Undefined: none is acceptable.
 */
export function negotiate(accept: string | undefined, offers: readonly string[]): string | undefined {
  if (accept === undefined || accept === '*/*' || accept === offers[0]) return offers[0];
  const ranges = parseAccept(accept);
  return preferred(offers, (offer) => qualityOf(offer, ranges)).offer;
}

/** The offer with the greatest weight above 0, and the weight; of equal ones the first. */
export function preferred<Offer>(offers: readonly Offer[], weightOf: (offer: Offer) => number) {
  let best: { readonly offer: Offer | undefined; readonly q: number } = { offer: undefined, q: 0 };
  for (const offer of offers) {
    const q = weightOf(offer);
    if (q > best.q) best = { offer, q };
  }
  return best;
}

/** Whether Accept names problem details (RFC 9457). */
export function acceptsProblemJson(accept: string | undefined): boolean {
  if (accept === undefined || !/problem\+json/i.test(accept)) return false;
  return parseAccept(accept).some(({ type, subtype, q }) => q > 0 && `${type}/${subtype}` === PROBLEM_TYPE);
}

/** Invalid ranges are ignored, as RFC 9110 permits. */
function parseAccept(accept: string): Range[] {
  return weighted(accept, MAX_RANGES).flatMap(({ name, isNarrowed: narrowed, q }) => {
    const [type = '', subtype = ''] = name.split('/');
    return type === '' || subtype === '' ? [] : [{ type, subtype, narrowed, q }];
  });
}

/**
 * The first `max` members of a list whose members have weights (RFC 9110 section 12.4.2), by their names in lower case. A
 * weight is 1 if there is none, or an invalid one. `isNarrowed`: another parameter precedes it.
 */
export const weighted = (field: string, max: number) =>
  field.split(',', max).map((member) => {
    const [name = '', ...parameters] = member.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => WEIGHT.test(parameter)) ?? 'q=1';
    const value = weight.slice(weight.indexOf('=') + 1).trim();
    return {
      name: name.toLowerCase(),
      isNarrowed: parameters.length > 0 && !WEIGHT.test(parameters[0]!),
      q: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(value) ? Number(value) : 1,
    };
  });

const WEIGHT = /^q\s*=/i;

/** The weight of the most specific range that matches. */
function qualityOf(offer: string, ranges: readonly Range[]): number {
  const [type, subtype] = offer.split('/');
  let specificity = -1;
  let q = 0;
  for (const range of ranges) {
    const matches =
      range.type === '*'
        ? range.subtype === '*'
        : range.type === type && (range.subtype === '*' || range.subtype === subtype);
    const rank = range.type === '*' ? 0 : range.subtype === '*' ? 1 : range.narrowed ? 2 : 3;
    if (matches && rank > specificity) {
      specificity = rank;
      q = range.q;
    }
  }
  return q;
}
