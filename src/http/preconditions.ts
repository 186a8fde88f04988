import type { IncomingHttpHeaders } from 'node:http';
import { badRequest } from '../errors/request-errors.js';
import { CODED_ETAG, negotiateCoding } from './content-coding.js';

/** The preconditions of a request (RFC 9110 section 13.1) that apply according to section 13.2.2. */
export interface Conditions {
  /** If-Match. */
  readonly match: Tags | undefined;
  /** If-Unmodified-Since, milliseconds; ignored if there is an If-Match. */
  readonly unmodifiedSince: number | undefined;
  /** If-None-Match. */
  readonly noneMatch: Tags | undefined;
  /** If-Modified-Since, milliseconds; only for GET and HEAD, and ignored if there is an If-None-Match. */
  readonly modifiedSince: number | undefined;
}

/** Entity tags of a list, opaque parts with their quotes, or `*`. */
export type Tags = '*' | readonly Tag[];

export interface Tag {
  readonly weak: boolean;
  /** Without the suffix of the coding that the request negotiates. */
  readonly opaque: string;
  /** With it. */
  readonly sent: string;
}

/** The validators of a representation. `modified` returns milliseconds; undefined: unknown. */
export interface Validators {
  readonly etag: string;
  readonly modified: (() => number) | undefined;
}

const MAX_TAGS = 100;

/** Reads the preconditions; undefined: there are none. Throws 400 for an invalid list of entity tags. */
export function readConditions(headers: IncomingHttpHeaders): Conditions | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  const { 'if-unmodified-since': unmodifiedSince, 'if-modified-since': modifiedSince } = headers;
  if ((match ?? noneMatch ?? unmodifiedSince ?? modifiedSince) === undefined) return undefined;
  const { coding } = negotiateCoding(headers['accept-encoding']);
  return {
    match: match === undefined ? undefined : readTags(match, 'If-Match', coding),
    unmodifiedSince: match === undefined ? readDate(unmodifiedSince) : undefined,
    noneMatch: noneMatch === undefined ? undefined : readTags(noneMatch, 'If-None-Match', coding),
    modifiedSince: noneMatch === undefined ? readDate(modifiedSince) : undefined,
  };
}

/**
 * The outcome of the preconditions of a GET or HEAD for a representation that exists: the algorithm of RFC
 * 9110 section 13.2.2. If-Match compares strongly, If-None-Match weakly (section 8.8.3.2).
 */
export function evaluate(conditions: Conditions, { etag, modified }: Validators): 200 | 304 | 412 {
  const { match, unmodifiedSince, noneMatch, modifiedSince } = conditions;
  if (match !== undefined && !matchesStrongly(match, etag)) return 412;
  if (unmodifiedSince !== undefined && modified && seconds(modified()) > seconds(unmodifiedSince)) return 412;
  if (noneMatch !== undefined) return matchesWeakly(noneMatch, etag) ? 304 : 200;
  const unchanged = modifiedSince !== undefined && modified && seconds(modified()) <= seconds(modifiedSince);
  return unchanged ? 304 : 200;
}

export function matchesStrongly(tags: Tags, etag: string): boolean {
  return (
    tags === '*' || (!etag.startsWith('W/') && tags.some(({ weak, opaque }) => !weak && opaque === etag))
  );
}

function matchesWeakly(tags: Tags, etag: string): boolean {
  const opaque = etag.replace(/^W\//, '');
  return tags === '*' || tags.some((tag) => tag.opaque === opaque);
}

/**
 * The ETag of a 304: that of the coded representation if the client has it, so that a cache finds the response to which
 * the 304 applies (RFC 9111 section 4.3.4).
 */
export function matchedEtag({ noneMatch }: Conditions, etag: string): string {
  if (noneMatch === undefined || noneMatch === '*') return etag;
  return noneMatch.find(({ opaque, sent }) => opaque === etag && sent !== opaque)?.sent ?? etag;
}

/** Milliseconds as HTTP dates count them. */
export function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** One entity tag with the separators before it (RFC 9110 sections 8.8.3 and 5.6.1). */
const TAG = /[ \t,]*(W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/y;

function readTags(field: string, name: string, coding: string | undefined): Tags {
  if (field.trim() === '*') return '*';
  const tags: Tag[] = [];
  TAG.lastIndex = 0;
  let end = 0;
  for (let found = TAG.exec(field); found; found = TAG.exec(field)) {
    const sent = found[2]!;
    const isCoded = coding !== undefined && CODED_ETAG.exec(sent)?.[1] === coding;
    tags.push({ weak: found[1] !== undefined, opaque: isCoded ? sent.replace(CODED_ETAG, '"') : sent, sent });
    end = TAG.lastIndex;
    if (tags.length > MAX_TAGS) throw badRequest(`${name} lists more than ${MAX_TAGS} entity tags.`);
  }
  if (tags.length === 0 || !/^[ \t,]*$/.test(field.slice(end)))
    throw badRequest(`${name} is not a list of entity tags.`);
  return tags;
}

/** The three forms of RFC 9110 section 5.6.7; any other field is ignored (sections 13.1.3 and 13.1.4). */
const HTTP_DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})$/;

function readDate(field: string | undefined): number | undefined {
  if (field === undefined || !HTTP_DATE.test(field)) return undefined;
  const ms = Date.parse(/GMT$/.test(field) ? field : `${field} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}
