import {
  type ErrorName,
  json,
  listOf,
  objectOf,
  schemaRef,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
} from '../../api/doc.js';
import { type Endpoint, managing } from '../../api/endpoint.js';
import { managedEndpoints } from '../../api/managed-endpoints.js';
import { listOfDeliveries, oneDelivery, redelivery, testDelivery } from './delivery-actions.js';
import { STATUSES } from './delivery-store.js';
import { WEBHOOK } from './webhook-kind.js';
import { STORED_WEBHOOKS, type WebhookServices } from './webhook-store.js';

const MANY = WEBHOOK.many;
const ONE = '/webhooks/:id';
const MISSING: ErrorName = ['NOT_FOUND', 'simple'];
const QUEUED = json('The delivery, which happens soon.', 'Delivery', ['Cache-Control', 'Location']);

/** The schemas of the members of a delivery. */
const DELIVERY = {
  id: TEXT,
  event_id: TEXT,
  type: TEXT,
  subject: TEXT,
  status: { enum: [...STATUSES] },
  tries: { type: 'integer', minimum: 0 },
  next_at: TIME_OR_NULL,
  created_at: TIME,
  tried_at: TIME_OR_NULL,
  ended_at: TIME_OR_NULL,
  last_answer: {
    ...objectOf({ status: { type: ['integer', 'null'] }, error: TEXT_OR_NULL, body: TEXT_OR_NULL }),
    type: ['object', 'null'],
  },
};

/** Webhooks and their deliveries. */
export const ENDPOINTS: readonly Endpoint<WebhookServices>[] = [
  ...managedEndpoints(WEBHOOK, STORED_WEBHOOKS),
  {
    ...managing('POST', `${ONE}/test`, MANY, {
      id: 'testWebhook',
      summary: 'Send a test event',
      success: { 202: QUEUED },
      errors: [MISSING, 'WEBHOOK_DISABLED'],
    }),
    run: testDelivery,
  },
  {
    ...managing('GET', `${ONE}/deliveries`, MANY, {
      id: 'listDeliveries',
      summary: 'List the deliveries of a webhook, newest first',
      success: { 200: json('Up to 100 deliveries.', 'DeliveryList', ['Cache-Control', 'Link']) },
      errors: [MISSING],
      query: { after: { type: 'string' }, status: { type: 'string', enum: [...STATUSES] } },
    }),
    schemas: () => ({
      Delivery: objectOf({ ...DELIVERY, _links: schemaRef('Links') }, Object.keys(DELIVERY)),
      DeliveryWithEvent: { allOf: [schemaRef('Delivery'), objectOf({ event: schemaRef('Event') })] },
      DeliveryList: listOf('Delivery'),
    }),
    run: listOfDeliveries,
  },
  {
    ...managing('GET', `${ONE}/deliveries/:delivery`, MANY, {
      id: 'getDelivery',
      summary: 'Show a delivery with its event',
      success: { 200: json('The delivery.', 'DeliveryWithEvent', ['Cache-Control']) },
      errors: [MISSING],
    }),
    run: oneDelivery,
  },
  {
    ...managing('POST', `${ONE}/deliveries/:delivery/redeliver`, MANY, {
      id: 'redeliver',
      summary: 'Deliver again',
      success: { 202: QUEUED },
      errors: [MISSING, 'WEBHOOK_DISABLED', 'DELIVERY_PENDING'],
    }),
    run: redelivery,
  },
];
