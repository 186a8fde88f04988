import { json } from './admin-operations.js';
import { batchErrors } from './batch-errors.js';
import { arrayOf, type Descriptions, type ErrorRef, error, type Schema, schemaRef } from './model.js';

const text: Schema = { type: 'string' };
const JSON_TYPE = 'application/json';
const HASHED = ['ETag', 'Cache-Control'];
const html = { 'text/html': text };
const anyJson = { [JSON_TYPE]: { type: 'object' } } as const;

/** The operations of the service itself; `named`: errors whose codes have the names of collections and fields. */
export function serviceOperations(named: readonly ErrorRef[]): Descriptions {
  return {
    ...DOCUMENTS,
    ...STATE,
    ...CALLERS,
    'POST /batch': {
      id: 'batch',
      tag: 'batch',
      summary: 'Run up to 100 operations in one transaction, all or nothing',
      body: { [JSON_TYPE]: schemaRef('Batch') },
      success: { 200: json('One result for each operation.', 'BatchResults', ['Idempotency-Replayed']) },
      errors: batchErrors(named),
      fields: ['Idempotency-Key'],
    },
    ...EVENTS,
  };
}

/** A read of a representation that has an ETag. */
function document(
  { id, summary, description }: { id: string; summary: string; description: string },
  content: Readonly<Record<string, Schema>>,
  ...errors: ErrorRef[]
): Descriptions[string] {
  return {
    id,
    tag: 'service',
    summary,
    success: {
      200: { description, content, headers: HASHED },
      304: { description: 'The client has the current representation.', headers: HASHED },
    },
    errors: [...errors, error('PRECONDITION_FAILED')],
    fields: ['If-Match', 'If-None-Match'],
  };
}

const DOCUMENTS: Descriptions = {
  'GET /': document(
    {
      id: 'getHome',
      summary: 'Name the collections and documents of the service',
      description: 'Links to everything.',
    },
    { [JSON_TYPE]: schemaRef('Home'), ...html },
  ),
  'GET /errors': document(
    { id: 'listErrors', summary: 'List the codes of errors', description: 'All codes.' },
    { [JSON_TYPE]: schemaRef('ErrorList'), ...html },
  ),
  'GET /errors/:code': document(
    {
      id: 'getError',
      summary: 'Explain one code, at the address that is the type of its problem documents',
      description: 'The code.',
    },
    { [JSON_TYPE]: schemaRef('ErrorExplanation'), ...html },
    error('NOT_FOUND'),
  ),
  'GET /openapi.json': document(
    { id: 'getOpenApi', summary: 'This document', description: 'An OpenAPI document.' },
    anyJson,
  ),
  'GET /openapi.yaml': document(
    { id: 'getOpenApiYaml', summary: 'This document as YAML', description: 'An OpenAPI document.' },
    { 'application/yaml': text },
  ),
  'GET /asyncapi.json': document(
    { id: 'getAsyncApi', summary: 'The document of the event stream', description: 'An AsyncAPI document.' },
    anyJson,
  ),
};

const STATE: Descriptions = {
  'GET /healthz': {
    id: 'getHealth',
    tag: 'service',
    summary: 'Whether the process is alive',
    success: { 200: json('It is.', 'Health', ['Cache-Control']) },
  },
  'GET /readyz': {
    id: 'getReadiness',
    tag: 'service',
    summary: 'Whether the service can respond to requests',
    success: {
      200: json('It can.', 'Health', ['Cache-Control']),
      503: json('It cannot; the status says why.', 'Health', ['Cache-Control', 'Retry-After']),
    },
  },
  'GET /metrics': {
    id: 'getMetrics',
    tag: 'service',
    summary: 'Metrics in the text format of Prometheus',
    success: {
      200: { description: 'The metrics.', content: { 'text/plain': text }, headers: ['Cache-Control'] },
    },
  },
};

const CALLERS: Descriptions = {
  'GET /whoami': {
    id: 'whoami',
    tag: 'service',
    summary: 'Show the caller and its scopes',
    success: { 200: json('The caller.', 'Caller', ['Cache-Control']) },
  },
  'GET /.well-known/oauth-protected-resource': {
    id: 'getProtectedResource',
    tag: 'service',
    summary: 'What a client needs to get an access token (RFC 9728)',
    success: { 200: json('The metadata.', 'ProtectedResource', ['Cache-Control']) },
  },
  'GET /userinfo': {
    id: 'getUserInfo',
    tag: 'authorization',
    summary: 'Claims about the user of the token (OpenID Connect)',
    success: { 200: json('The claims.', 'UserInfo', ['Cache-Control']) },
    errors: [error('NOT_FOUND', 'simple')],
  },
  'POST /userinfo': {
    id: 'postUserInfo',
    tag: 'authorization',
    summary: 'The same by POST',
    success: { 200: json('The claims.', 'UserInfo', ['Cache-Control']) },
    errors: [error('NOT_FOUND', 'simple')],
  },
};

const EVENTS: Descriptions = {
  'GET /events': {
    id: 'listEvents',
    tag: 'events',
    summary: 'Events after a cursor, or a stream of events',
    success: {
      200: {
        description: 'Events, oldest first.',
        content: {
          [JSON_TYPE]: schemaRef('EventList'),
          'application/cloudevents-batch+json': arrayOf(schemaRef('Event')),
          'text/event-stream': text,
        },
        headers: ['Cache-Control', 'Events-Cursor', 'Link', 'Preference-Applied'],
      },
    },
    errors: [
      error('INVALID_CURSOR'),
      error('INVALID_TICKET'),
      error('CURSOR_GONE'),
      error('TOO_MANY_STREAMS'),
    ],
    fields: ['Prefer-wait', 'Last-Event-ID'],
    query: {
      after: { type: 'string', description: 'A cursor, or `now`.' },
      types: { type: 'string', description: 'Types, separated by commas: `books.*,authors.deleted`.' },
      limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
      ticket: { type: 'string', description: 'Instead of a credential, for one event stream.' },
    },
  },
  'POST /events/tickets': {
    id: 'createEventTicket',
    tag: 'events',
    summary: 'Create a ticket for an event stream of a browser',
    success: { 201: json('The ticket, valid for 30 seconds and once.', 'Ticket', ['Cache-Control']) },
    errors: [error('RATE_LIMITED')],
  },
};
