import type { NotFoundReason } from '../collection/record.js';
import { JSON_TYPE } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { absent, gone } from '../errors.js';
import type { Problem } from '../problem.js';

/** What it means to a client that a record is missing; an absent one has no body when it was asked for as a page or CSV. */
export function notFoundProblem(resource: Resource, why: NotFoundReason, type = JSON_TYPE): Problem {
  if (why === 'gone') return gone(resource.singular);
  return absent(resource.singular, type === JSON_TYPE ? resource.absent : 'empty');
}
