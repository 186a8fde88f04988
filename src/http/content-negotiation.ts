interface Range {
  readonly type: string;
  readonly subtype: string;
  /** It has parameters, as `text/html;level=1`: it fits, but less well than the bare type. */
  readonly narrowed: boolean;
  readonly q: number;
}

const PROBLEM = 'application/problem+json';
/** Ranges of one header that are looked at; more than any client has reason to send. */
const MAX_RANGES = 64;

/**
 * The offer that the Accept header prefers (RFC 9110 section 12.5.1), the first offer among equals and when
 * there is no header; undefined when none is acceptable.
 */
export function negotiate(accept: string | undefined, offers: readonly string[]): string | undefined {
  if (accept === undefined || accept === '*/*' || accept === offers[0]) return offers[0];
  const ranges = parseAccept(accept);
  let best: string | undefined;
  let bestQ = 0;
  for (const offer of offers) {
    const q = qualityOf(offer, ranges);
    if (q > bestQ) {
      best = offer;
      bestQ = q;
    }
  }
  return best;
}

/** Whether the client names problem details (RFC 9457) as something it takes. */
export function acceptsProblemJson(accept: string | undefined): boolean {
  if (accept === undefined || !/problem\+json/i.test(accept)) return false;
  return parseAccept(accept).some(({ type, subtype, q }) => q > 0 && `${type}/${subtype}` === PROBLEM);
}

/** An unreadable range is left out: RFC 9110 lets a server disregard a header it cannot use. */
function parseAccept(accept: string): Range[] {
  return accept
    .split(',', MAX_RANGES)
    .map((text) => {
      const [range = '', ...parameters] = text.split(';').map((part) => part.trim());
      const [type = '', subtype = ''] = range.toLowerCase().split('/');
      const narrowed = parameters.length > 0 && !isWeight(parameters[0]!);
      return { type, subtype, narrowed, q: weightOf(parameters) };
    })
    .filter(({ type, subtype }) => type !== '' && subtype !== '');
}

function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find(isWeight);
  if (weight === undefined) return 1;
  const value = weight.slice(weight.indexOf('=') + 1).trim();
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(value) ? Number(value) : 1;
}

function isWeight(parameter: string): boolean {
  return /^q\s*=/i.test(parameter);
}

/** The weight of the most specific range that fits. */
function qualityOf(offer: string, ranges: readonly Range[]): number {
  const [type, subtype] = offer.split('/');
  let specificity = -1;
  let q = 0;
  for (const range of ranges) {
    const fits =
      range.type === '*'
        ? range.subtype === '*'
        : range.type === type && (range.subtype === '*' || range.subtype === subtype);
    const rank = range.type === '*' ? 0 : range.subtype === '*' ? 1 : range.narrowed ? 2 : 3;
    if (fits && rank > specificity) {
      specificity = rank;
      q = range.q;
    }
  }
  return q;
}
