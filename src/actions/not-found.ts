import type { NotFoundReason } from '../collection/record.js';
import type { Resource } from '../collection/resource.js';
import type { Problem } from '../errors/problem.js';
import { absent, gone, notFoundCode } from '../errors/record-errors.js';
import { JSON_TYPE } from '../http/media-types.js';

/** The 404 or 410 for a missing record of a write: `{error: string}`. */
export function missingForWrite({ singular }: Resource, reason: NotFoundReason): Problem {
  return reason === 'gone' ? gone(singular) : absent(singular, 'simple', notFoundCode(singular));
}

/** The 404 or 410 for a missing record of a GET. A 404 for HTML or CSV has no body. */
export function notFoundProblem(resource: Resource, reason: NotFoundReason, type = JSON_TYPE): Problem {
  const { singular, absent: shape } = resource;
  if (reason === 'gone') return gone(singular);
  const code = shape === 'simple' ? notFoundCode(singular) : 'NOT_FOUND';
  return absent(singular, type === JSON_TYPE ? shape : 'empty', code);
}
