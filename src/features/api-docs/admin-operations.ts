import { STATUSES } from '../webhooks/delivery-store.js';
import { type Descriptions, error, type OperationDescription, type Success, schemaRef } from './model.js';

const JSON_TYPE = 'application/json';
const NO_STORE = ['Cache-Control', 'ETag'];
/** Lists of version 2 have Link. */
const LIST = [...NO_STORE, 'Link'];
const READ = ['If-Match', 'If-None-Match'];
const missing = error('NOT_FOUND', 'simple');
const failed = error('PRECONDITION_FAILED');

/** A response with JSON. */
export const json = (description: string, name: string, headers: readonly string[] = []): Success => ({
  description,
  content: { [JSON_TYPE]: schemaRef(name) },
  headers,
});

const unchanged: Success = { description: 'The client has the current representation.', headers: NO_STORE };

/** The words for something that operators manage: path, type, and in sentences. */
interface Words {
  readonly path: string;
  readonly type: string;
  readonly one: string;
  readonly many: string;
}

/** List, create, show and delete. */
function managedOperations(
  { path, type, one, many }: Words,
  inputErrors: OperationDescription['errors'] = [],
): Descriptions {
  const tag = many;
  return {
    [`GET ${path}`]: {
      id: `list${type}s`,
      tag,
      summary: `List ${many}, newest first`,
      success: { 200: json(`Up to 100 ${many}.`, `${type}List`, LIST), 304: unchanged },
      errors: [failed],
      fields: READ,
      query: { after: { type: 'string', description: 'The id of the last one of the page before.' } },
    },
    [`POST ${path}`]: {
      id: `create${type}`,
      tag,
      summary: `Create ${one}`,
      body: { [JSON_TYPE]: schemaRef(`${type}Input`) },
      success: {
        201: json(`What was created. A secret is shown once.`, `New${type}`, [...NO_STORE, 'Location']),
      },
      errors: [error('VALIDATION_ERROR'), error('INSUFFICIENT_STORAGE'), ...inputErrors],
    },
    [`GET ${path}/:id`]: {
      id: `get${type}`,
      tag,
      summary: `Show ${one}`,
      success: { 200: json(`The requested one.`, type, NO_STORE), 304: unchanged },
      errors: [missing, failed],
      fields: READ,
    },
    [`DELETE ${path}/:id`]: {
      id: `delete${type}`,
      tag,
      summary: `Delete ${one}`,
      success: { 204: { description: 'It does not exist (any more).' } },
      errors: [failed],
      fields: ['If-Match'],
    },
  };
}

const taken = { status: 409, code: 'CERTIFICATE_TAKEN', shape: 'envelope' } as const;

/** API keys and certificates. */
export const KEY_OPERATIONS: Descriptions = managedOperations(
  { path: '/keys', type: 'Key', one: 'an API key, or register a client certificate', many: 'keys' },
  [taken],
);

/** Calls of versions that retire. */
export const VERSION_OPERATIONS: Descriptions = {
  'GET /admin/versions': {
    id: 'listVersionCalls',
    tag: 'versions',
    summary: 'List who calls a version that retires, by version and principal',
    success: { 200: json('Up to 100 callers.', 'VersionCallsList', ['Cache-Control', 'Link']) },
    errors: [error('INVALID_CURSOR')],
    query: { after: { type: 'string', description: 'The cursor in `links.next` of the page before.' } },
  },
};

/** Replace and change. */
function changes({ path, type, one, many }: Words): Descriptions {
  const common = {
    tag: many,
    success: { 200: json('What is stored after the write.', type, NO_STORE) },
    errors: [missing, failed, error('VALIDATION_ERROR'), error('INSUFFICIENT_STORAGE')],
    fields: ['If-Match'],
  };
  const patch = schemaRef(`${type}Patch`);
  return {
    [`PUT ${path}/:id`]: {
      ...common,
      id: `replace${type}`,
      summary: `Replace the fields of ${one}`,
      body: { [JSON_TYPE]: schemaRef(`${type}Input`) },
    },
    [`PATCH ${path}/:id`]: {
      ...common,
      id: `update${type}`,
      summary: `Change fields of ${one}`,
      body: { [JSON_TYPE]: patch, 'application/merge-patch+json': patch },
    },
  };
}

const CLIENTS: Words = {
  path: '/oauth-clients',
  type: 'Client',
  one: 'a client of the authorization server',
  many: 'clients',
};

/** Clients of the embedded authorization server. */
export const CLIENT_OPERATIONS: Descriptions = { ...managedOperations(CLIENTS), ...changes(CLIENTS) };

const WEBHOOKS: Words = { path: '/webhooks', type: 'Webhook', one: 'a webhook', many: 'webhooks' };
const hook = '/webhooks/:id';
const tag = WEBHOOKS.many;
const queued = json('The delivery, which happens soon.', 'Delivery', ['Cache-Control', 'Location']);

/** Webhooks and their deliveries. */
export const WEBHOOK_OPERATIONS: Descriptions = {
  ...managedOperations(WEBHOOKS, [error('TOO_MANY_WEBHOOKS')]),
  ...changes(WEBHOOKS),
  [`POST ${hook}/rotate`]: {
    id: 'rotateWebhookSecret',
    tag,
    summary: 'Create a new secret; the previous one is valid for one more day',
    success: { 200: json('The webhook with its new secret, which is shown once.', 'NewWebhook', NO_STORE) },
    errors: [missing],
  },
  [`POST ${hook}/test`]: {
    id: 'testWebhook',
    tag,
    summary: 'Send a test event',
    success: { 202: queued },
    errors: [missing, error('WEBHOOK_DISABLED')],
  },
  [`GET ${hook}/deliveries`]: {
    id: 'listDeliveries',
    tag,
    summary: 'List the deliveries of a webhook, newest first',
    success: { 200: json('Up to 100 deliveries.', 'DeliveryList', ['Cache-Control', 'Link']) },
    errors: [missing],
    query: { after: { type: 'string' }, status: { type: 'string', enum: [...STATUSES] } },
  },
  [`GET ${hook}/deliveries/:delivery`]: {
    id: 'getDelivery',
    tag,
    summary: 'Show a delivery with its event',
    success: { 200: json('The delivery.', 'DeliveryWithEvent', ['Cache-Control']) },
    errors: [missing],
  },
  [`POST ${hook}/deliveries/:delivery/redeliver`]: {
    id: 'redeliver',
    tag,
    summary: 'Deliver again',
    success: { 202: queued },
    errors: [missing, error('WEBHOOK_DISABLED'), error('DELIVERY_PENDING')],
  },
};
