import { type ErrorName, json, VALIDATED } from '../../api/doc.js';
import type { Endpoint } from '../../api/endpoint.js';
import { describeManaged, managing } from '../../api/managed.js';
import { listOfDeliveries, oneDelivery, redelivery, testDelivery } from './delivery-actions.js';
import { STATUSES } from './delivery-store.js';
import {
  listOfWebhooks,
  newWebhook,
  oneWebhook,
  patchWebhook,
  removeWebhook,
  replaceWebhook,
  rotateWebhook,
  type WebhookServices,
} from './webhook-actions.js';
import { PAGE } from './webhook-store.js';

const MANY = 'webhooks';
const WEBHOOK = describeManaged(
  {
    path: '/webhooks',
    type: 'Webhook',
    one: 'a webhook',
    many: MANY,
    order: 'newest first',
    limit: PAGE,
  },
  ['TOO_MANY_WEBHOOKS'],
);
const ONE = '/webhooks/:id';
const MISSING: ErrorName = ['NOT_FOUND', 'simple'];
const QUEUED = json('The delivery, which happens soon.', 'Delivery', ['Cache-Control', 'Location']);

/** Webhooks and their deliveries. */
export const ENDPOINTS: readonly Endpoint<WebhookServices>[] = [
  { ...WEBHOOK.list, homeLink: { name: 'webhooks', position: 8 }, run: listOfWebhooks },
  { ...WEBHOOK.create, run: newWebhook },
  { ...WEBHOOK.get, run: oneWebhook },
  { ...WEBHOOK.replace, run: replaceWebhook },
  { ...WEBHOOK.change, run: patchWebhook },
  { ...WEBHOOK.remove, run: removeWebhook },
  {
    ...managing('POST', `${ONE}/rotate`, MANY, {
      id: 'rotateWebhookSecret',
      summary: 'Create a new secret; the previous one is valid for one more day',
      success: {
        200: json('The webhook with its new secret, which is shown once.', 'NewWebhook', VALIDATED),
      },
      errors: [MISSING],
    }),
    run: rotateWebhook,
  },
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
