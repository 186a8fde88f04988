import { arrayOf, objectOf, type Schema, schemaRef } from '../../api/doc.js';

const text: Schema = { type: 'string' };

/** A code of an error. */
const ERROR_ENTRY: Readonly<Record<string, Schema>> = {
  code: text,
  status: { type: 'integer' },
  shapes: arrayOf(text),
  message: text,
  cause: text,
  remedy: text,
};

/** Schemas of the service's own resources, and those that all collections share. */
export const SERVICE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Links: {
    type: 'object',
    description: 'What can be done with the record.',
    additionalProperties: objectOf({ href: text, method: text }),
  },
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
    properties: { filter: schemaRef('Filter') },
  },
  Groups: {
    ...objectOf({
      data: arrayOf({ type: 'object', additionalProperties: true }),
      meta: objectOf({ groups: { type: 'integer', minimum: 0, maximum: 1000 } }),
    }),
    description: 'Groups of records: the members of each are what `group` and `aggregate` name.',
  },
  Filter: {
    type: 'object',
    description:
      'Conditions that all apply. A field has a value to equal, or operators: `{"price": {"gte": 10}}`. A relation has conditions on the related record, or after `some`, `none` or `every` on the records that refer to this one.',
    properties: {
      and: { type: 'array', minItems: 1, items: schemaRef('Filter') },
      or: { type: 'array', minItems: 1, items: schemaRef('Filter') },
      not: schemaRef('Filter'),
    },
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
        actor: { type: 'string', description: 'Who made the change: the subject of the caller.' },
        previous: { type: 'integer', description: 'The version that was changed or deleted.' },
        match: {
          enum: ['entered', 'changed', 'left'],
          description:
            'Only with `filter`: whether the record matches since the change, as before it, or no longer.',
        },
        datacontenttype: { const: 'application/json' },
        data: { type: 'object', description: 'The record; absent: it was deleted.' },
      },
      ['specversion', 'id', 'source', 'type', 'subject', 'time'],
    ),
    description: 'A change of a record, as a CloudEvents 1.0 envelope.',
  },
  Home: objectOf({
    name: text,
    versions: { type: 'object', additionalProperties: text },
    collections: arrayOf(objectOf({ name: text, singular: text, href: text })),
    links: { type: 'object', additionalProperties: text },
  }),
  ErrorEntry: objectOf(ERROR_ENTRY),
  ErrorExplanation: objectOf({
    ...ERROR_ENTRY,
    title: text,
    examples: { description: 'Bodies by their media types.', type: 'object', additionalProperties: true },
    links: objectOf({ self: text, errors: text }),
  }),
  Caller: objectOf({
    subject: text,
    scopes: arrayOf(text),
    scheme: text,
    expires_at: { type: ['string', 'null'], format: 'date-time' },
  }),
  Health: objectOf({ status: text }),
  ProtectedResource: {
    ...objectOf({ resource: text, authorization_servers: arrayOf(text), scopes_supported: arrayOf(text) }, [
      'resource',
    ]),
    description: 'OAuth 2.0 protected resource metadata (RFC 9728).',
  },
  Operation: objectOf(
    { method: text, path: text, headers: { type: 'object', additionalProperties: text }, body: {} },
    ['method', 'path'],
  ),
  Batch: {
    anyOf: [
      { ...arrayOf(schemaRef('Operation')), minItems: 1, maxItems: 100 },
      objectOf({ operations: { ...arrayOf(schemaRef('Operation')), minItems: 1, maxItems: 100 } }),
    ],
  },
  BatchResults: objectOf({
    results: arrayOf(
      objectOf(
        { status: { type: 'integer' }, headers: { type: 'object', additionalProperties: text }, body: {} },
        ['status', 'headers'],
      ),
    ),
  }),
  Ticket: objectOf({
    ticket: text,
    expires_at: { type: 'string', format: 'date-time' },
    _links: schemaRef('Links'),
  }),
};
