import { histogram, SECONDS, single } from '../../telemetry/instruments.js';

export type WebhookMetrics = Readonly<ReturnType<typeof createWebhookMetrics>>;

/** Metrics of deliveries. */
export function createWebhookMetrics() {
  return {
    tries: histogram(
      'plinth_webhook_try_duration_seconds',
      'Time of an attempt to deliver to a webhook.',
      ['outcome'],
      SECONDS,
    ),
    dropped: single(
      'plinth_webhook_dropped_events_total',
      'Events that were deleted before webhooks received them.',
      'counter',
    ),
    trying: single('plinth_webhook_active_tries', 'Attempts to deliver in flight.', 'gauge'),
  };
}
