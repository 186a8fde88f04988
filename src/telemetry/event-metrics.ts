import { counter, histogram, SECONDS, single } from './instruments.js';

export type EventMetrics = Readonly<ReturnType<typeof createEventMetrics>>;

/** Metrics of the readers of the event feed and of deliveries to webhooks. */
export function createEventMetrics() {
  return {
    readers: single('plinth_event_readers', 'Event streams and requests that wait for events.', 'gauge'),
    ended: counter('plinth_event_streams_ended_total', 'Event streams that ended.', ['reason']),
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
