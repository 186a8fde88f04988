import { Problem } from '../../errors/problem.js';

export const tooManyWebhooks = (max: number) =>
  new Problem(409, 'TOO_MANY_WEBHOOKS', `There may be at most ${max} webhooks.`);

export const webhookDisabled = () =>
  new Problem(409, 'WEBHOOK_DISABLED', 'The webhook is disabled: enable it first.');

export const deliveryPending = () =>
  new Problem(
    409,
    'DELIVERY_PENDING',
    'The delivery is in flight, or waits for an earlier delivery of its record.',
  );
