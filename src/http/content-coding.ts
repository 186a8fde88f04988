import zlib from 'node:zlib';
import { preferred, weighted } from './content-negotiation.js';

/** A content coding of responses (RFC 9110 section 8.4.1, RFC 8878). */
export type Coding = 'zstd' | 'br' | 'gzip';

/** Node has zstd from 22.15 on. */
const HAS_ZSTD = 'createZstdCompress' in zlib;

/** The codings that responses can have. The first is preferred among those that the client weighs the same. */
export const RESPONSE_CODINGS: readonly Coding[] = HAS_ZSTD ? ['zstd', 'br', 'gzip'] : ['br', 'gzip'];

/** The codings that a request body can have. */
export type BodyCoding = Coding | 'deflate';

export const BODY_CODINGS: readonly BodyCoding[] = [
  'gzip',
  'br',
  ...(HAS_ZSTD ? ['zstd' as const] : []),
  'deflate',
];

/** The coding that Accept-Encoding selects. */
export interface CodingChoice {
  /** Undefined: none. */
  readonly coding: Coding | undefined;
  /** Whether the client refuses a response without a coding. */
  readonly refusesIdentity: boolean;
}

const ANY: CodingChoice = { coding: undefined, refusesIdentity: false };
/** Maximum codings of a header that are read. */
const MAX_CODINGS = 32;

/** Few clients differ in this header, so that most requests find its meaning here. */
const choices = new Map<string, CodingChoice>();
const MAX_CHOICES = 256;
const MAX_STORED_LENGTH = 256;

/** The coding that Accept-Encoding selects (RFC 9110 section 12.5.3). Without the header: none. */
export function negotiateCoding(header: string | undefined): CodingChoice {
  if (header === undefined) return ANY;
  const known = choices.get(header);
  if (known) return known;
  const choice = choose(weightsOf(header));
  if (choices.size >= MAX_CHOICES) choices.clear();
  if (header.length <= MAX_STORED_LENGTH) choices.set(header, choice);
  return choice;
}

function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const { name: given, q } of weighted(header, MAX_CODINGS)) {
    const name = canonical(given);
    if (name !== '' && !weights.has(name)) weights.set(name, q);
  }
  return weights;
}

/** RFC 9110 section 8.4.1.3 has another name for gzip. */
function canonical(name: string): string {
  const lower = name.toLowerCase();
  return lower === 'x-gzip' ? 'gzip' : lower;
}

function choose(weights: ReadonlyMap<string, number>): CodingChoice {
  const any = weights.get('*');
  const { offer, q } = preferred(RESPONSE_CODINGS, (each) => weights.get(each) ?? any ?? 0);
  const identity = weights.get('identity');
  const coding = identity !== undefined && identity > q ? undefined : offer;
  return { coding, refusesIdentity: identity === 0 || (identity === undefined && any === 0) };
}

/** The coding of a request body; undefined: none; 'unknown': one that is not supported, or several. */
export function bodyCoding(header: string | undefined): BodyCoding | 'unknown' | undefined {
  if (header === undefined) return undefined;
  const name = canonical(header.trim());
  if (name === '' || name === 'identity') return undefined;
  return BODY_CODINGS.find((each) => each === name) ?? 'unknown';
}

/** The strong ETag of a representation in a coding (RFC 9110 section 8.8.3.3). */
export function codedEtag(etag: string, coding: Coding): string {
  return `${etag.slice(0, -1)}-${coding}"`;
}

/**
 * The suffix that `codedEtag` appends. A hash in base64url never ends like this: its last character has two bits that are
 * zero.
 */
export const CODED_ETAG = /-(zstd|br|gzip)"$/;
