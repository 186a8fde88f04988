import {
  type CounterValue,
  counter,
  type Distribution,
  type Family,
  gauge,
  histogram,
  type LabelledMetric,
  SECONDS,
} from './instruments.js';

/** What is counted of who follows the events, and of deliveries to webhooks. */
export interface EventMetrics {
  readonly families: readonly Family[];
  /** Event streams and requests that wait for events. */
  readonly readers: CounterValue;
  /** Event streams that ended. Labels: reason. */
  readonly ended: LabelledMetric<CounterValue>;
  /** Seconds of one try to deliver. Labels: outcome. */
  readonly tries: LabelledMetric<Distribution>;
  /** Events that were deleted before webhooks received them. */
  readonly dropped: CounterValue;
  /** Tries under way. */
  readonly trying: CounterValue;
}

export function createEventMetrics(): EventMetrics {
  const readers: CounterValue = { value: 0 };
  const trying: CounterValue = { value: 0 };
  const ended = counter('plinth_event_streams_ended_total', 'Event streams that ended.', ['reason']);
  const tries = histogram(
    'plinth_webhook_try_duration_seconds',
    'Time of one try to deliver to a webhook.',
    ['outcome'],
    SECONDS,
  );
  const dropped = counter(
    'plinth_webhook_dropped_events_total',
    'Events that were deleted before webhooks received them.',
    [],
  );
  const families = [
    gauge('plinth_event_readers', 'Event streams and requests that wait for events.', () => readers.value),
    ended.family,
    tries.family,
    dropped.family,
    gauge('plinth_webhook_active_tries', 'Tries to deliver that are under way.', () => trying.value),
  ];
  return { families, dropped: dropped.of(), readers, ended, tries, trying };
}
