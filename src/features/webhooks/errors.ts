import { define } from '../../errors/problem.js';

export const tooManyWebhooks = define('TOO_MANY_WEBHOOKS', 409, {
  message: 'There are too many webhooks.',
  cause: 'The service has the maximum number of webhooks.',
  remedy: 'Delete webhooks that are not in use.',
  example: [100],
  make: (max: number) => ({ message: `There may be at most ${max} webhooks.` }),
});

export const webhookDisabled = define('WEBHOOK_DISABLED', 409, {
  message: 'The webhook is disabled: enable it first.',
  cause: 'Deliveries of a disabled webhook cannot be requested.',
  remedy: 'Change `enabled` to true.',
});

export const deliveryPending = define('DELIVERY_PENDING', 409, {
  message: 'The delivery is in flight, or waits for an earlier delivery of its record.',
  cause: 'A delivery can be repeated after it was delivered or has failed finally.',
  remedy: 'Wait for the end of its attempts.',
});
