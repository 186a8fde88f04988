import { arrayOf, objectOf, type Schema, schemaRef } from './model.js';

const text: Schema = { type: 'string' };
const link: Schema = { type: ['string', 'null'], description: 'A path; null: there is no such page.' };

/** Schemas that all collections share. */
export const COMMON_SCHEMAS: Readonly<Record<string, Schema>> = {
  FilterValue: { type: ['string', 'number', 'boolean'] },
  Links: {
    type: 'object',
    description: 'What can be done with the record.',
    additionalProperties: objectOf({ href: text, method: text }),
  },
  PageMeta: {
    ...objectOf(
      {
        page: { type: 'integer', minimum: 1 },
        limit: { type: 'integer', minimum: 1, maximum: 100 },
        total: { type: 'integer', minimum: 0 },
        totalPages: { type: 'integer', minimum: 0 },
      },
      ['page', 'limit'],
    ),
    description: '`total` and `totalPages` are absent with `count=none`.',
  },
  PageLinks: objectOf({ self: text, next: link, prev: link, first: text, last: text }, [
    'self',
    'next',
    'prev',
    'first',
  ]),
  CursorLinks: objectOf({ self: text, next: link, first: text }),
  CursorMeta: objectOf({ limit: { type: 'integer' }, count: { type: 'integer', minimum: 0 } }),
  Error: objectOf({
    error: objectOf({ code: text, message: text, details: {}, requestId: text }, ['code', 'message']),
  }),
  SimpleError: objectOf({ error: text }),
  Failure: {
    ...objectOf({ path: text, message: text, keyword: text }),
    description: 'One violation; `path` is a JSON Pointer (RFC 6901) into the body.',
  },
  ValidationError: objectOf({
    errors: arrayOf(schemaRef('Failure')),
    error: objectOf({ code: { const: 'VALIDATION_ERROR' }, message: text, details: {}, requestId: text }, [
      'code',
      'message',
    ]),
  }),
  Problem: {
    ...objectOf(
      {
        type: text,
        title: text,
        status: { type: 'integer' },
        detail: text,
        code: text,
        details: {},
        errors: arrayOf(schemaRef('Failure')),
        requestId: text,
      },
      ['type', 'title', 'status', 'detail', 'code'],
    ),
    description: 'A problem document (RFC 9457), for clients whose Accept names it.',
  },
  JsonPatch: {
    ...arrayOf(
      objectOf(
        {
          op: { enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
          path: text,
          from: text,
          value: {},
        },
        ['op', 'path'],
      ),
    ),
    description: 'A JSON Patch (RFC 6902).',
  },
  Query: {
    type: 'object',
    description:
      'The parameters of a list: `{"filter": {"price": {"gte": 10}}, "sort": ["-price"], "limit": 20}`.',
    properties: { filter: { type: 'object' } },
  },
  Event: {
    ...objectOf(
      {
        specversion: { const: '1.0' },
        id: text,
        source: text,
        type: { ...text, description: '`<collection>.created`, `.updated` or `.deleted`.' },
        subject: { ...text, description: 'The path of the record.' },
        time: { type: 'string', format: 'date-time' },
        sequence: { ...text, description: 'The cursor of the event.' },
        previous: { type: 'integer', description: 'The version that was changed or deleted.' },
        datacontenttype: { const: 'application/json' },
        data: { type: 'object', description: 'The record; absent: it was deleted.' },
      },
      ['specversion', 'id', 'source', 'type', 'subject', 'time'],
    ),
    description: 'A change of a record, as a CloudEvents 1.0 envelope.',
  },
};
