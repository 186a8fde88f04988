import { absent, gone } from '../errors.js';
import { JSON_TYPE } from '../http/representation.js';
import type { Problem } from '../problem.js';
import type { Missing } from '../record.js';
import type { Resource } from '../resource.js';

/** What it means to a client that a record is missing; an absent one has no body when it was asked for as a page or CSV. */
export function missing(resource: Resource, why: Missing, type = JSON_TYPE): Problem {
  if (why === 'gone') return gone(resource.singular);
  return absent(resource.singular, type === JSON_TYPE ? resource.absent : 'empty');
}
