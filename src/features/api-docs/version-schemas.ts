import { arrayOf, objectOf, type Schema, schemaRef } from '../../api/doc.js';
import type { Version } from '../../versions/supported.js';

const text: Schema = { type: 'string' };
const page: Schema = { type: ['string', 'null'], description: 'A path; null: there is no such page.' };
const limit: Schema = { type: 'integer', minimum: 1 };
const total: Schema = { type: 'integer', minimum: 0 };

/** The schemas that differ between versions. */
export const versionSchemas = ({ lists, errors }: Version): Record<string, Schema> => ({
  ...(lists === 'keyset' ? KEYSET_LISTS : NUMBERED_LISTS),
  Problem: {
    ...objectOf(
      {
        type: text,
        title: text,
        status: { type: 'integer' },
        detail: text,
        code: text,
        details: {},
        [errors.failures]: errors.failures === 'errors' ? arrayOf(schemaRef('Failure')) : {},
        [errors.requestId]: text,
      },
      ['type', 'title', 'status', 'detail', 'code'],
    ),
    description: errors.isAlwaysProblem
      ? 'A problem document (RFC 9457).'
      : 'A problem document (RFC 9457), for clients whose Accept names it.',
  },
});

const listOf = (name: string, meta: Schema, links: Schema) =>
  objectOf({ data: arrayOf(schemaRef(name)), meta, links });

const events = { cursor: text, more: { type: 'boolean' } };

const NUMBERED_LISTS: Readonly<Record<string, Schema>> = {
  PageMeta: {
    ...objectOf(
      { page: limit, limit: { ...limit, maximum: 100 }, total, totalPages: { type: 'integer', minimum: 0 } },
      ['page', 'limit'],
    ),
    description: '`total` and `totalPages` are absent with `count=none`.',
  },
  PageLinks: objectOf({ self: text, next: page, prev: page, first: text, last: text }, [
    'self',
    'next',
    'prev',
    'first',
  ]),
  CursorLinks: objectOf({ self: text, next: page, first: text }),
  CursorMeta: objectOf({ limit: { type: 'integer' }, count: { type: 'integer', minimum: 0 } }),
  ErrorList: listOf('ErrorEntry', objectOf({ total: { type: 'integer' } }), objectOf({ self: text })),
  EventList: listOf('Event', objectOf(events), objectOf({ next: text })),
};

const KEYSET_LINKS = schemaRef('PageLinks');

const KEYSET_LISTS: Readonly<Record<string, Schema>> = {
  PageMeta: {
    ...objectOf({ limit: { ...limit, maximum: 100 }, total }, ['limit']),
    description: '`total` is present with `count=exact`.',
  },
  PageLinks: objectOf({ self: text, next: page, prev: page, first: text }),
  CursorLinks: objectOf({ self: text, next: page, prev: { type: 'null' }, first: text }),
  CursorMeta: objectOf({ limit }),
  ErrorList: listOf('ErrorEntry', objectOf({ limit }), KEYSET_LINKS),
  EventList: listOf('Event', objectOf({ limit, ...events }), KEYSET_LINKS),
};
