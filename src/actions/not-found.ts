import type { NotFoundReason } from '../collection/record.js';
import { JSON_TYPE } from '../collection/representation.js';
import type { Resource } from '../collection/resource.js';
import { absent, gone, notFoundCode } from '../errors.js';
import type { Problem } from '../problem.js';

/** The 404 or 410 for a missing record. A 404 for HTML or CSV has no body. */
export function notFoundProblem(resource: Resource, reason: NotFoundReason, type = JSON_TYPE): Problem {
  const { singular, absent: shape } = resource;
  if (reason === 'gone') return gone(singular);
  const code = shape === 'simple' ? notFoundCode(singular) : 'NOT_FOUND';
  return absent(singular, type === JSON_TYPE ? shape : 'empty', code);
}
